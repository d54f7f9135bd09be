package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// A hold acts at once, whatever the store shows about the node: it leaves the line, and its pods stay.
func TestHoldActsWhateverTheStoreShows(t *testing.T) {
	for _, stale := range []bool{false, true} {
		c := evictortest.New(t, evictortest.Zone("a", 8))
		c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
		r, s := newRelisted(t, c, config())
		s.run(5 * time.Second)
		r.keepNode("a-0")
		r.keepNode("a-1")
		c.Fail("a-0", "a-1")
		for !c.HasNoExecute("a-0") {
			s.run(time.Second)
		}
		require.Equal(t, []string{"a-1 in :a"}, waiting(s.e))
		r.goBack(s.e, stale)
		s.e.Hold("a-0", "a technician is there")
		s.e.Hold("a-1", "")
		require.Empty(t, s.e.Waiting())
		st, _ := s.e.Node("a-1")
		require.Equal(t, "Held", st.Held)
		s.run(2 * time.Minute)
		require.False(t, c.HasNoExecute("a-1"))
		require.Empty(t, c.Evicted())
		require.Equal(t, stale, c.HasNoExecute("a-0"), "lifting needs the node as it is")
		r.goBack(s.e, false)
		s.run(6 * time.Second)
		require.False(t, c.HasNoExecute("a-0"))
		s.e.Release("a-1")
		st, _ = s.e.Node("a-1")
		require.Empty(t, st.Held)
		s.run(6 * time.Second)
		require.True(t, c.HasNoExecute("a-1"))
	}
}

// A hold that begins during a node's turn stops it at the next write.
func TestHoldDuringATurnVoidsIt(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(config())
	c.FailWrites(func(write, object string) error {
		if write == "conditions" && object == "a-0" {
			e.Hold("a-0", "a technician is there")
		}
		return nil
	})
	c.Fail("a-0", "a-1")
	c.Advance(5 * time.Minute)
	require.False(t, c.HasNoExecute("a-0"))
	require.True(t, c.HasNoExecute("a-1"))
}

// Options.Hold counts as soon as the node is read, before its event has come.
func TestHoldOfTheProgramCountsBeforeTheEvent(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: c.Clock(), Hold: func(n *v1.Node) (string, bool) { return "cordoned", n.Spec.Unschedulable }})
	require.NoError(t, err)
	s := byHand{t, c, e}
	c.Fail("a-0")
	for !c.HasNoExecute("a-0") {
		for _, node := range []string{"a-0", "a-1", "a-2", "a-3"} {
			e.NodeChanged(node)
		}
		for _, node := range []string{"a-1", "a-2", "a-3"} {
			e.LeaseRenewed(node, c.Clock().Now())
		}
		s.run(time.Second)
	}
	e.NodeChanged("a-0")
	s.run(30 * time.Second)
	require.Len(t, e.Evictions(), 1)
	c.Cordon("a-0", true) // without an event
	for range 60 {
		for _, node := range []string{"a-1", "a-2", "a-3"} {
			e.LeaseRenewed(node, c.Clock().Now())
		}
		s.run(time.Second)
	}
	require.Empty(t, c.Evicted())
}

// A node that is held while its pods are being evicted loses its turn. When it is released it waits for another one.
func TestHeldWhileItIsEmptied(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, 60*time.Second
	c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(2))
	var e *evictor.Evictor
	held := false
	c.FailWrites(func(write, object string) error {
		if write == "evict" && !held {
			held = true
			e.Hold("a-0", "repair")
			return errors.New("unavailable")
		}
		return nil
	})
	e = c.Start(cfg)
	c.Fail("a-0", "a-1")
	for !held {
		c.Advance(time.Second)
	}
	c.Advance(time.Second)
	before := len(c.Evicted())
	c.Advance(10 * time.Second)
	require.Len(t, c.Evicted(), before+2, "the other has its turn")
	e.Release("a-0")
	c.Advance(time.Second)
	require.Len(t, c.Evicted(), before+2, "it has no turn")
	c.Advance(20 * time.Second)
	require.Len(t, c.Evicted(), 4)
	_, err := e.States()
	require.NoError(t, err)
}
