//go:build go1.25

package evictor_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// If its taint is replaced while an eviction hangs, it is reported as moved once, and not at each event of its pod.
func TestEvictionThatHangsIsMovedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
		var moved atomic.Int32
		e, pass := run(t, c, config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.EvictionMoved {
				moved.Add(1)
			}
		})})
		hang := make(chan struct{})
		c.FailWrites(func(write, _ string) error {
			if write == "evict" {
				<-hang
			}
			return nil
		})
		c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
		pass(40)
		c.Taint("a-0", v1.Taint{Key: "two", Effect: v1.TaintEffectNoExecute})
		pass(1)
		c.Untaint("a-0", "one", v1.TaintEffectNoExecute)
		for range 5 {
			pass(1)
			e.PodChanged(evictor.PodKey{Namespace: "default", Name: "p"})
		}
		require.EqualValues(t, 1, moved.Load())
		close(hang)
		pass(1)
		require.Equal(t, []string{"p"}, c.Evicted())
	})
}
