package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// What became overdue while the observer was not healthy leaves node by node too, as after a pause, when its nodes have
// been watched anew.
func TestOverdueAfterABadObserverLeavesNodeByNode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 9), evictortest.PodsPerNode(1))
	e := c.Start(config())
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(2 * time.Minute)
	require.Len(t, says(c, "NoExecute", "add"), 4)
	e.SetObserverHealth(errors.New("blind"))
	c.Advance(10 * time.Minute)
	e.SetObserverHealth(nil)
	c.Advance(39 * time.Second)
	require.Empty(t, c.Evicted())
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"765.000", "775.000", "785.000", "795.000"}, times(says(c, `"evict"`)))
}
