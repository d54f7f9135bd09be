package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// unseen is a cluster of which the store shows the pods of one node as they are now for ever. It counts the evictions.
func unseen(t *testing.T, cfg evictor.Config) (*evictortest.Cluster, *relisted, byHand, map[string]int) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	r, s := newRelisted(t, c, cfg)
	r.keepPod("a-0-p0")
	r.keepPod("a-0-p1")
	r.goBack(s.e, true)
	tries := map[string]int{}
	c.FailWrites(func(write, object string) error {
		if write == "evict" {
			tries[object]++
		}
		return nil
	})
	return c, r, s, tries
}

// A pod is evicted once for all reasons together, while the store does not show that it goes: here its node is emptied, and then
// somebody taints it too, or the other way round.
func TestPodIsEvictedOnceForAllReasons(t *testing.T) {
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	for _, taintAt := range []time.Duration{200 * time.Second, 310 * time.Second} {
		cfg := config()
		cfg.TaintBasedEviction = false
		c, _, s, tries := unseen(t, cfg)
		c.Fail("a-0")
		s.run(taintAt)
		c.Taint("a-0", drain)
		s.run(10 * time.Minute)
		require.Equal(t, map[string]int{"default/a-0-p0": 1, "default/a-0-p1": 1}, tries)
	}
}

// Nor is it evicted again because the taint goes and comes back meanwhile.
func TestPodIsEvictedOnceThoughItsTaintComesBack(t *testing.T) {
	c, _, s, tries := unseen(t, config())
	for range 3 {
		c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
		s.run(10 * time.Second)
		c.Untaint("a-0", "drain", v1.TaintEffectNoExecute)
		s.run(10 * time.Second)
	}
	require.Equal(t, map[string]int{"default/a-0-p0": 1, "default/a-0-p1": 1}, tries)
}

// One that takes its name is another, also where the store never showed the first one to go.
func TestPodThatTakesTheNameOfAnEvictedOneIsAnother(t *testing.T) {
	c, r, s, tries := unseen(t, config())
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	s.run(10 * time.Second)
	c.AddPod("a-0-p0", "a-0")
	r.keepPod("a-0-p0")
	r.goBack(s.e, true)
	s.run(10 * time.Second)
	require.Equal(t, map[string]int{"default/a-0-p0": 2, "default/a-0-p1": 1}, tries)
}
