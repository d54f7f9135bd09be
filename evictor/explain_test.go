package evictor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// Explain says why a waiting node is not tainted by what happened to its own zone, not to others.
func TestExplainTellsWhatBecameOfTheZone(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 6), evictortest.PodsPerNode(1))
	e := c.Start(config())
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(time.Minute)
	c.Fail("b-0", "b-1", "b-2", "b-3")
	c.Advance(time.Minute)
	for _, key := range []string{"a-3", "a-5"} {
		lines := fmt.Sprint(e.Explain(key))
		require.Contains(t, lines, "zone :a: Normal → PartialDisruption, 4 of 6 not ready, rate 0/s")
		require.NotContains(t, lines, "zone :b")
		require.Equal(t, 1, strings.Count(lines, "→ PartialDisruption"))
	}
}
