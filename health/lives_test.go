package health

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/clockcases"
)

const lifeUntil = 40 // operations before it is stopped, and after

func lives() int64 {
	if os.Getenv("EVICTKIT_FULL") == "" {
		return 1_000
	}
	return 10_000
}

// stampsFrom is later than any creation time, whichever clock wrote that.
var stampsFrom = clockcases.Start.Add(100_000 * time.Hour)

// otherClock is a clock of the same kind that shows another time.
func otherClock(r *rand.Rand, monotonic bool) *clockcases.Clock {
	clk := clockcases.New(monotonic)
	clk.Pass(time.Duration(r.Intn(1e6)) * time.Second)
	clk.Set(time.Duration(r.Intn(1e6)) * time.Second)
	return clk
}

// told writes an instant relative to the clock.
func told(clk *clockcases.Clock, t time.Time) string { return t.Sub(clk.Now()).String() }

// A tracker that is stopped, encoded to JSON and restored on another clock answers like one whose clock stood still in
// between.
func TestLivesOfDeadlines(t *testing.T) {
	for seed := range lives() {
		r := rand.New(rand.NewSource(seed))
		clk := clockcases.New(seed%2 == 0)
		d, err := NewDeadlines[string](DeadlinesConfig{Grace: 10 * time.Second, Clock: clk})
		require.NoError(t, err)
		for range r.Intn(lifeUntil) {
			deadlinesOperation(r, d, clk)
		}
		text, err := json.Marshal(d.Snapshot())
		require.NoError(t, err)
		other := otherClock(r, seed%2 == 0)
		restored, err := NewDeadlines[string](DeadlinesConfig{Grace: 10 * time.Second, Clock: other})
		require.NoError(t, err)
		var snapshot DeadlinesSnapshot[string]
		require.NoError(t, json.Unmarshal(text, &snapshot))
		require.NoError(t, restored.Restore(snapshot))
		both := r.Int63()
		one, two := rand.New(rand.NewSource(both)), rand.New(rand.NewSource(both))
		for n := range r.Intn(lifeUntil) {
			want, got := deadlinesOperation(one, d, clk), deadlinesOperation(two, restored, other)
			if want != got {
				t.Fatalf("life %d, %d after %s:\n%s\nexpected\n%s", seed, n, text, got, want)
			}
		}
	}
}

func deadlinesOperation(r *rand.Rand, d *Deadlines[string], clk *clockcases.Clock) string {
	key, n := string(rune('a'+r.Intn(8))), r.Intn(20)
	answer := ""
	switch r.Intn(9) {
	case 0, 1:
		answer = fmt.Sprint("Beat ", d.Beat(key))
	case 2:
		d.TrackSince(key, clk.Wall().Add(-time.Duration(n)*time.Second))
	case 3:
		clk.Pass(time.Duration(n) * time.Second)
	case 4:
		answer = fmt.Sprint("SetGrace ", d.SetGrace(key, time.Duration(n)*time.Second))
	case 5:
		answer = fmt.Sprint("Forget ", d.Forget(key))
	case 6:
		for key := range d.Expired() {
			st, _ := d.Get(key)
			answer += told(clk, st.Deadline) // those of one deadline in any order
			if n < 5 {
				break
			}
		}
		if answer != "" && n < 5 {
			for _, k := range d.Snapshot().Keys { // which of them it was
				d.Beat(k.Key)
			}
		}
	case 7:
		if n < 3 {
			d.Reset()
		}
		clk.Set(time.Duration(n-10) * time.Hour)
	case 8:
		for _, late := range d.Late() {
			answer += late.By.String()
		}
	}
	next, ok := d.Next()
	answer += fmt.Sprint(d.Len(), ok)
	if ok {
		answer += told(clk, next)
	}
	if st, ok := d.Get(key); ok {
		answer += fmt.Sprint(told(clk, st.LastBeat), told(clk, st.Deadline), st.Grace, st.HandedOut)
	}
	return answer
}

// The same for a monitor, except that nobody is Settled before one more grace. The original is changed in the same way,
// to compare the two.
func TestLivesOfMonitors(t *testing.T) {
	for seed := range lives() {
		r := rand.New(rand.NewSource(seed))
		clk := clockcases.New(seed%2 == 0)
		config := Config{NodeMonitorGracePeriod: 20 * time.Second, NodeStartupGracePeriod: 30 * time.Second, NodeMonitorPeriod: time.Duration(seed%3) * 3 * time.Second, Clock: clk}
		m, err := NewMonitor(config)
		require.NoError(t, err)
		for range r.Intn(2 * lifeUntil) {
			monitorOperation(r, m, clk)
		}
		text, err := json.Marshal(m.Snapshot())
		require.NoError(t, err)
		m.watchAnew()
		other := otherClock(r, seed%2 == 0)
		config.Clock = other
		restored, err := NewMonitor(config)
		require.NoError(t, err)
		var snapshot MonitorSnapshot
		require.NoError(t, json.Unmarshal(text, &snapshot))
		require.NoError(t, restored.Restore(snapshot))
		both := r.Int63()
		one, two := rand.New(rand.NewSource(both)), rand.New(rand.NewSource(both))
		for n := range r.Intn(2 * lifeUntil) {
			want, got := monitorOperation(one, m, clk), monitorOperation(two, restored, other)
			if want != got {
				t.Fatalf("life %d, %d after %s:\n%s\nexpected\n%s", seed, n, text, got, want)
			}
		}
	}
}

// watchAnew makes a monitor forget what one that takes over does not know.
func (m *Monitor) watchAnew() {
	at := m.listening.read(m.clock.Now())
	for _, e := range m.nodes.All() {
		e.of.watched = at
	}
	m.anew, m.lossAt, m.listening.lost, m.listening.gapAt, m.blind = at, noStamp, false, noStamp, 0
}

func monitorOperation(r *rand.Rand, m *Monitor, clk *clockcases.Clock) (answer string) {
	name, n := string(rune('a'+r.Intn(5))), r.Intn(20)
	stamp, version := stampsFrom.Add(time.Duration(r.Intn(30))*time.Second), []string{"", "7", "8", "9"}[r.Intn(4)]
	switch op := r.Intn(14); op {
	case 0, 1:
		report := Report{Node: name, UID: types.UID([]string{"", "1", "1", "2"}[r.Intn(4)]), ResourceVersion: version, Heartbeat: stamp, Transition: stamp, Created: clk.Wall().Add(-time.Duration(n) * time.Second)}
		report.Ready = []v1.ConditionStatus{"", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}[r.Intn(4)]
		answer = fmt.Sprint(m.Observe(report))
	case 2:
		answer = fmt.Sprint(m.ObserveRenewal(name, stamp))
	case 3, 4:
		answer = fmt.Sprint(m.ObserveLease(name, stamp, version))
	case 5, 6, 7:
		if next, ok := m.Next(); ok {
			clk.Pass(max(0, next.Sub(clk.Now())))
		}
		answer = passed(m, clk)
	case 8:
		clk.Pass(time.Duration(n) * time.Second)
	case 9:
		clk.Pass(time.Duration(n*n) * time.Second)
		answer = passed(m, clk)
	case 10:
		answer = fmt.Sprint(n < 5 && m.Forget(name, ""))
	case 11:
		m.Next()
		clk.Set(time.Duration(n-10) * time.Hour)
	case 12:
		switch {
		case n < 3:
			m.Restart()
		case n < 8:
			m.Freeze("x")
		default:
			answer = fmt.Sprint(m.Thaw("x"))
		}
	}
	next, ok := m.Next()
	answer += fmt.Sprint(m.Len(), m.frozen, m.Settled(name), m.Blind(), ok)
	if ok {
		answer += told(clk, next)
	}
	if v, ok := m.Verdict(name); ok {
		answer += fmt.Sprint(v.Observed, v.Ready, v.Expired, told(clk, v.Since), told(clk, v.LastBeat))
	}
	if settles, ok := m.Settles(name); ok {
		answer += told(clk, settles)
	}
	return answer
}

func passed(m *Monitor, clk *clockcases.Clock) string {
	var all []string
	for _, v := range m.Pass() {
		all = append(all, fmt.Sprint(v.Node, v.UID, v.Observed, v.Ready, v.Expired, told(clk, v.Since), told(clk, v.LastBeat)))
	}
	return strings.Join(all, "\n")
}
