package evictor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// What a cap over all zones leaves is shared: a zone of which many nodes failed does not keep the others from theirs.
func TestCapsStarveNoZone(t *testing.T) {
	for _, failed := range []int{0, 2} {
		cfg := config()
		cfg.MaxNodesPerSecond, cfg.MaxFailedNodes = 0.05, failed
		c := evictortest.New(t, evictortest.Zone("a", 12), evictortest.Zone("b", 12))
		c.Start(cfg)
		c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "b-0")
		c.Advance(80 * time.Second) // 45 for the verdicts, then one every 20
		require.True(t, c.HasNoExecute("a-0"))
		require.True(t, c.HasNoExecute("b-0"))
	}
}

// A cap so small that its next token never comes is not waited for in circles.
func TestCapWhoseTokenNeverComes(t *testing.T) {
	cfg := config()
	cfg.MaxNodesPerSecond = 1e-12
	c := evictortest.New(t, evictortest.Zone("a", 6))
	e, err := evictor.New(cfg, c.Clients(), evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	c.Feed(e)
	c.Fail("a-0", "a-1")
	for range 20 {
		c.Advance(5 * time.Second)
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Equal(t, c.Clock().Now().Add(5*time.Second), next)
	}
	require.True(t, c.HasNoExecute("a-0"))
	require.False(t, c.HasNoExecute("a-1"))
}
