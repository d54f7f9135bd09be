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

// A node that renews its lease after its verdict fell, and before it could be written, is not declared Unknown any more.
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
					e.LeaseRenewed("a-0", c.Clock().Now()) // it lives
					return failed
				}
				return nil
			})
			c.Fail("a-0")
			c.Advance(46 * time.Second)
			require.Equal(t, 1, tries, "%s, period %s", name, period)
			require.Empty(t, says(c, "Unknown"), fmt.Sprint(name, period))
			c.Advance(45 * time.Second) // and is silent again
			require.Len(t, says(c, `"Ready"`, "Unknown"), 1)
		}
	}
}
