package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
)

// What is zero has its default, and what is set stays.
func TestDefaults(t *testing.T) {
	s := Scenario{}.WithDefaults()
	require.Equal(t, evictor.DefaultConfig(), s.Config)
	require.Equal(t, []time.Duration{10 * time.Second, 5 * time.Minute, 10 * time.Second}, []time.Duration{s.LeaseInterval, s.StatusInterval, s.ReplaceAfter})

	own := Scenario{Config: configured(func(c *evictor.Config) { c.Nodes.NodeMonitorPeriod, c.Nodes.NodeEvictionRate = 0, 0 }), LeaseInterval: 3, StatusInterval: 4, ReplaceAfter: -1}
	require.Equal(t, own, own.WithDefaults())
}
