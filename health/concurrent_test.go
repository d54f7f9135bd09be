package health

import (
	"fmt"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/stretchr/testify/require"
)

// With -race, each method without the lock fails. Each key that falls silent is told to one goroutine only.
func TestAllMethodsSideBySide(t *testing.T) {
	d, clk := deadlines(t, time.Minute)
	w, restarted := watching(t, 0), watching(t, 0)
	d.Track("silent", at(-60))
	w.ObserveNode(node("silent", "1", v1.ConditionTrue, 0))
	var workers sync.WaitGroup
	var mu sync.Mutex
	told := map[string]int{}
	tell := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		told[name]++
	}
	for worker := range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for i := range 500 {
				key, other := fmt.Sprint("k", (worker+i)%7), fmt.Sprint("t", i%7)
				if worker == 0 {
					clk.SetTime(at(float64(i) / 5))
					w.clk.SetTime(at(float64(i) / 5))
				}
				d.Beat(key)
				d.Track(other, time.Time{})
				d.SetGrace(other, time.Hour)
				d.Pause()
				d.Resume()
				for name := range d.Expired() {
					tell(name)
				}
				d.Next()
				d.Get(key)
				d.Len()
				d.Snapshot()
				d.Restore(nil)
				d.Restart()
				d.Forget(other)

				w.ObserveNode(node(key, "1", v1.ConditionTrue, float64(i)))
				w.ObserveLease(key, at(float64(i)), "")
				for _, v := range w.Pass() {
					if v.Expired {
						tell(v.Node)
					}
				}
				w.Next()
				w.Silent(at(float64(i)))
				w.Verdict(key)

				restarted.ObserveNode(node(key, "1", v1.ConditionTrue, float64(i)))
				restarted.Pass()
				restarted.Verdict(key)
				restarted.Freeze()
				restarted.Freeze()
				restarted.Thaw()
				restarted.Restart()
				restarted.Forget(key, "")
			}
		}()
	}
	workers.Wait()
	require.Equal(t, map[string]int{"silent": 2}, told)
}
