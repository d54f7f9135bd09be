package evictor_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// A node that renews its lease after its verdict, but before the verdict is written, is not declared Unknown.
func TestANodeThatRenewsItsLeaseBeforeItIsWrittenIsNotUnknown(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		for name, failed := range map[string]error{
			"conflict": apierrors.NewConflict(v1.Resource("nodes"), "a-0", errors.New("changed")), "server": errors.New("unavailable"),
		} {
			cfg := config()
			cfg.NodeMonitorPeriod = period
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			e := c.Start(cfg)
			tries := 0
			c.FailWrites(func(write, object string) error {
				if tries++; tries == 1 {
					e.LeaseRenewed("a-0", c.Clock().Now()) // it is alive
					return failed
				}
				return nil
			})
			c.Fail("a-0")
			c.Advance(46 * time.Second)
			require.Equal(t, 1, tries, "%s, period %s", name, period)
			require.Empty(t, says(c, "Unknown"), fmt.Sprint(name, period))
			c.Advance(45 * time.Second) // then it is silent again
			require.Len(t, says(c, `"Ready"`, "Unknown"), 1)
		}
	}
}

// Without taints too, an Unknown node that renews its lease keeps its pods, including those that were next after the
// first.
func TestANodeThatRenewsItsLeaseWhileItIsEmptiedKeepsItsPods(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.TaintBasedEviction, cfg.PodEvictionTimeout = period, false, time.Minute
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(3))
		e := c.Start(cfg)
		c.FailWrites(func(write, _ string) error {
			if write == "evict" && len(c.Evicted()) == 0 {
				e.LeaseRenewed("a-0", c.Clock().Now())
			}
			return nil
		})
		c.Fail("a-0")
		c.Advance(95 * time.Second)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted(), period)
		c.Advance(2 * time.Minute) // then it is silent again
		require.Equal(t, []string{"a-0-p0", "a-0-p1", "a-0-p2"}, c.Evicted(), period)
	}
}
