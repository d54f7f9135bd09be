package health

import (
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// All methods at once, on the real clock, with graces so short that nodes expire.
func TestManyAtOnce(t *testing.T) {
	for _, period := range []time.Duration{0, time.Millisecond} {
		m, err := NewMonitor(Config{NodeMonitorPeriod: period, NodeMonitorGracePeriod: 20 * time.Microsecond, NodeStartupGracePeriod: 30 * time.Microsecond})
		require.NoError(t, err)
		d, err := NewDeadlines[int](DeadlinesConfig{Grace: 10 * time.Microsecond})
		require.NoError(t, err)
		var all sync.WaitGroup
		for g := range 4 {
			all.Add(1)
			go func() {
				defer all.Done()
				r := rand.New(rand.NewSource(int64(g)))
				for range 3000 {
					atOnce(r, m, d)
				}
			}()
		}
		all.Wait()
		require.Len(t, d.Snapshot().Keys, d.Len())
	}
}

func atOnce(r *rand.Rand, m *Monitor, d *Deadlines[int]) {
	key := r.Intn(30)
	name := fmt.Sprint(key)
	switch r.Intn(14) {
	case 0, 1:
		m.ObserveNode(node(name, fmt.Sprint(r.Intn(2)), v1.ConditionTrue, float64(r.Intn(3)-1)))
	case 2, 3:
		m.ObserveRenewal(name, time.Now())
		m.ObserveLease(name, time.Now(), fmt.Sprint(r.Intn(9)))
	case 4:
		m.Pass()
	case 5:
		m.Next()
		m.Settled(name)
		m.Settles(name)
		m.Verdict(name)
	case 6:
		m.Verdict(name)
	case 7:
		m.Forget(name, "")
	case 8:
		m.Freeze("x")
	case 9:
		m.Thaw("x")
		m.Restart()
		m.Blind()
	case 10:
		d.Beat(key)
		d.SetGrace(key, time.Duration(1+r.Intn(30))*time.Microsecond)
	case 11:
		for key := range d.Expired() {
			d.Forget(key)
		}
	case 12:
		d.Track(key, time.Now())
		d.Snapshot()
	case 13:
		d.Freeze()
		d.Next()
		d.Thaw()
		if r.Intn(9) == 0 {
			d.Reset()
		}
	}
}

func TestManyDurationsAtOnce(t *testing.T) {
	d, err := NewDurations[int](DurationsConfig{Rules: []Rule{{v1.NodeReady, v1.ConditionFalse, 5 * time.Microsecond}, {v1.NodeReady, v1.ConditionUnknown, 20 * time.Microsecond}}})
	require.NoError(t, err)
	var all sync.WaitGroup
	for g := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			r := rand.New(rand.NewSource(int64(g)))
			for range 3000 {
				switch key := r.Intn(30); r.Intn(5) {
				case 0:
					d.Forget(key)
					d.Len()
				default:
					d.Observe(key, [][]v1.NodeCondition{nil, ready(v1.ConditionFalse, -1), ready(v1.ConditionTrue, -1)}[r.Intn(3)])
				}
			}
		}()
	}
	all.Wait()
}
