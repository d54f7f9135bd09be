package health

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

func heapInUse() uint64 {
	var m runtime.MemStats
	for range 2 { // pools need two collections
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// After many keys came and went, hardly any of their memory is kept, even if each had its own grace or was handed out.
func TestMemoryFollowsTheKeys(t *testing.T) {
	const keys = 100_000
	for name, own := range map[string]func(d *Deadlines[int], i int){
		"the common grace": func(*Deadlines[int], int) {},
		"their own graces": func(d *Deadlines[int], i int) { d.SetGrace(i, time.Hour+time.Duration(i)) },
		"in the past":      func(d *Deadlines[int], i int) { d.Forget(i); d.Track(i, epoch.Add(-time.Duration(i))) },
	} {
		clk := testingclock.NewFakePassiveClock(epoch)
		d, err := NewDeadlines[int](DeadlinesConfig{Grace: time.Minute, Clock: clk})
		require.NoError(t, err)
		before := heapInUse()
		for i := range keys {
			d.Beat(i)
			own(d, i)
		}
		for range 80 {
			clk.SetTime(clk.Now().Add(time.Minute / 4))
			for range d.Expired() {
				continue
			}
		}
		peak := heapInUse() - before
		for i := range keys {
			d.Forget((i * 7919) % keys)
		}
		require.Zero(t, d.Len())
		require.Less(t, float64(heapInUse())-float64(before), 0.05*float64(peak), name)
		runtime.KeepAlive(d)
	}
}

func TestMemoryFollowsTheNodes(t *testing.T) {
	const nodes = 100_000
	w := watching(t, 5*time.Second)
	before := heapInUse()
	for i := range nodes {
		w.ObserveNode(node(strconv.Itoa(i), "u", "", -1))
	}
	w.Pass()
	w.Restart()
	peak := heapInUse() - before
	for i := range nodes {
		require.True(t, w.Forget(strconv.Itoa(i), "u"))
	}
	w.Pass()
	require.Zero(t, w.nodes.Len())
	require.Less(t, float64(heapInUse())-float64(before), 0.05*float64(peak))
	runtime.KeepAlive(w)
}
