package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// Without taints, a pod whose next try falls due while another pod of its node is tried is not forgotten.
func TestRefusedPodsOfAnEmptiedNodeAreTriedThoughWritesTakeTime(t *testing.T) {
	for _, latency := range []time.Duration{0, 40 * time.Millisecond, 300 * time.Millisecond, 3 * time.Second} {
		cfg := config()
		cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
		c.Start(cfg)
		c.SetLatency(latency)
		c.FailWrites(func(write, _ string) error {
			if write == "evict" && c.Clock().Since(evictortest.Epoch) < 4*time.Minute {
				return apierrors.NewTooManyRequestsError("busy")
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(4 * time.Minute)
		require.Empty(t, c.Evicted())
		c.DeletePod("a-0-p2")
		c.Advance(2 * time.Minute)
		require.ElementsMatch(t, []string{"a-0-p0", "a-0-p1"}, c.Evicted(), latency)
	}
}
