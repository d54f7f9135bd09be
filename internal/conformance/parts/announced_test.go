package parts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// The conditions that announce maintenance are those that k8s.io/api names from v0.37 on, which the library is too old to
// name.
func TestAnnouncementsAreUpstreamsConditions(t *testing.T) {
	cfg := evictor.DefaultConfig()
	cfg.MaxAnnounced = time.Hour
	for _, kind := range []v1.NodeConditionType{
		v1.NodeGracefulNodeShutdownInProgress, v1.NodeDrainInProgress, v1.NodeDrained, v1.NodeMaintenancePlanned, v1.NodeMaintenanceInProgress,
	} {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		e := c.Start(cfg)
		c.Condition("a-0", kind, v1.ConditionTrue)
		c.Advance(time.Minute)
		status, _ := e.Node("a-0")
		require.Equal(t, string(kind), status.Held)
	}
}
