package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// unseen is a cluster whose store never changes what it shows of one node's pods. It counts the evictions.
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

// A pod is evicted once for all reasons together, while the store does not show it leaving. Here its node is emptied
// and then somebody taints it, or the other way round.
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

// It is not evicted again either if the taint is removed and added again meanwhile.
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

// lateDeletions does not show yet that pods are terminating.
type lateDeletions struct{ evictor.PodStore }

func (s lateDeletions) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	pod, ok := s.PodStore.Pod(key)
	return undeleted(pod), ok
}

func (s lateDeletions) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.PodStore.PodsOnNode(node, func(pod *v1.Pod) bool { return visit(undeleted(pod)) })
}

func undeleted(pod *v1.Pod) *v1.Pod {
	if pod != nil {
		pod.DeletionTimestamp = nil
	}
	return pod
}

// A pod is evicted once, even while the store does not show it.
func TestEvictionThatTheStoreDoesNotShowYetIsMadeOnce(t *testing.T) {
	for _, taintBased := range []bool{true, false} {
		cfg := config()
		cfg.TaintBasedEviction = taintBased
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
		clients := c.Clients()
		clients.Pods = lateDeletions{clients.Pods}
		e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock()})
		require.NoError(t, err)
		c.Feed(e)
		tries := map[string]int{}
		c.FailWrites(func(write, object string) error {
			if write == "evict" {
				if tries[object]++; object == "default/a-0-p1" && tries[object] < 3 {
					return errors.New("unavailable")
				}
			}
			return nil
		})
		c.Fail("a-0")
		for range 400 {
			c.Advance(time.Second)
			e.NodeChanged("a-0")
			_, err := e.Step(context.Background())
			require.NoError(t, err)
		}
		require.Equal(t, map[string]int{"default/a-0-p0": 1, "default/a-0-p1": 3}, tries)
	}
}
