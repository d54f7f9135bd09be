package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// TestTheProgramChoosesDomains: nodes count and wait where the program says, whatever their labels; one that it leaves out counts
// nowhere and is acted on all the same; one whose domain changes takes its place along.
func TestTheProgramChoosesDomains(t *testing.T) {
	even, odd := zone.Key{Zone: "even"}, zone.Key{Zone: "odd"}
	moved := false
	c := evictortest.New(t, evictortest.Zone("a", 12))
	e := c.Start(config(), evictor.Options{
		Domain: func(node *v1.Node) zone.Key {
			if last := node.Name[len(node.Name)-1]; last%2 == 0 && !(moved && node.Name == "a-4") {
				return even
			}
			return odd
		},
		Excluded: func(node *v1.Node) bool { return node.Name == "a-1" || node.Name == "a-3" },
	})
	c.Advance(10 * time.Second)
	zones := e.Zones()
	require.Len(t, zones, 2)
	require.Equal(t, even, zones[0].Zone)
	require.Equal(t, zone.Counts{Total: 6}, zones[0].Counts)
	require.Equal(t, odd, zones[1].Zone)
	require.Equal(t, zone.Counts{Total: 4}, zones[1].Counts)

	c.Fail("a-0", "a-1", "a-2", "a-4")
	c.Advance(45 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"), "the first of its domain, though it does not count")
	require.False(t, c.HasNoExecute("a-2"))
	require.Equal(t, zone.Counts{Total: 6, Bad: 3}, e.Zones()[0].Counts)
	require.Equal(t, zone.Counts{Total: 4}, e.Zones()[1].Counts)

	moved = true
	e.NodeChanged("a-4")
	c.Advance(10 * time.Second)
	require.True(t, c.HasNoExecute("a-2"))
	require.True(t, c.HasNoExecute("a-4"), "by a token of the domain that it moved to")
	require.Equal(t, zone.Counts{Total: 5, Bad: 1}, e.Zones()[1].Counts)
}
