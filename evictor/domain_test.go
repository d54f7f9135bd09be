package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// The program chooses domains: nodes count and wait where it says, whatever their labels. A node that it excludes
// counts nowhere and is still acted on. A node whose domain changes keeps its place in line.
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

func TestNodeChangesZoneWhileItWaits(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	c.Start(config())
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(46 * time.Second)
	c.Relabel("a-2", zone.Key{Zone: "b"}) // third in its own line, first in the other
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"45.000"}, times(says(c, "NoExecute", "a-0")))
	require.Equal(t, []string{"55.000"}, times(says(c, "NoExecute", "a-1")))
	require.Equal(t, []string{"50.000"}, times(says(c, "NoExecute", "a-2")))
}

func TestZoneThatEmptiesAndReturnsEarnsNoToken(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 4))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(50 * time.Second)
	require.True(t, c.HasNoExecute("a-0"), "at 45")
	c.DeleteNode("a-0")
	c.Advance(time.Second)
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(20 * time.Second)
	require.Equal(t, []string{"55.000"}, times(says(c, "not-ready", "NoExecute")))
}

// A node that changes its zone while writing its taint fails waits in the new zone.
func TestNodeThatMovesDuringItsTurnIsNotForgotten(t *testing.T) {
	cfg := config()
	cfg.RetryInitial = 3 * time.Second
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4))
	c.Start(cfg)
	tries := 0
	c.FailWrites(func(write, object string) error {
		if write != "taints" || object != "a-1" || c.Clock().Since(evictortest.Epoch) < 50*time.Second {
			return nil
		}
		switch tries++; tries {
		case 1:
			c.Relabel("a-1", zone.Key{Zone: "b"})
			fallthrough
		case 2: // and by the third the pass of 60 has moved it
			return apierrors.NewConflict(v1.Resource("nodes"), object, errors.New("changed"))
		case 3:
			return errors.New("unavailable")
		}
		return nil
	})
	c.Fail("a-0", "a-1") // the turn of a-1 comes at 55
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-1"))
}
