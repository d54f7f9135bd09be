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

// switched is the default policy, with a ruling about pending evictions in domains with any bad node. pending is a
// pointer, so the test can change it.
func switched(pending *zone.Pending) zone.Policy {
	return zone.PolicyFunc(func(s zone.Situation) zone.Ruling {
		ruling := zone.DefaultPolicy().Decide(s)
		if ruling.AskAfter = time.Second; s.Counts.Bad > 0 {
			ruling.Pending = *pending
		}
		return ruling
	})
}

// A policy that says Wait stops evictions by our own taints, not those by foreign ones. When it says GoOn again, nodes
// evict their pods one node after the other.
func TestPolicyThatWaitsKeepsOwnEvictions(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.RetryMax = period, time.Hour
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
		for _, n := range []string{"a-0", "a-1", "a-2"} {
			c.AddPod("ours-"+n, n, evictortest.TolerateFor(v1.TaintNodeUnreachable, 60), toleratesDrain)
		}
		c.AddPod("theirs", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 3600))
		pending := zone.GoOn
		e := c.Start(cfg, evictor.Options{Policy: switched(&pending)})
		c.Fail("a-0", "a-1", "a-2")
		c.Advance(70 * time.Second)
		require.True(t, c.HasNoExecute("a-2"))
		pending = zone.Wait
		c.Taint("a-0", drain)
		c.Advance(5 * time.Minute)
		require.Equal(t, []string{"theirs"}, c.Evicted())
		require.True(t, c.HasNoExecute("a-2"), "it is kept")
		require.Len(t, e.Evictions(), 3)
		require.Contains(t, explained(e, "default/ours-a-0"), "eviction held back: ZonePolicy: policy of zone :a: Wait")
		require.Contains(t, explained(e, "a-0"), "permission in zone :a: evictions by our own taints wait: policy of zone :a: Wait")
		c.Recover("a-2")
		c.Advance(20 * time.Second)
		require.False(t, c.HasNoExecute("a-2"), "recovery goes on")
		pending = zone.GoOn
		c.Advance(5 * time.Second)
		require.Len(t, c.Evicted(), 2)
		c.Advance(10 * time.Second)
		require.ElementsMatch(t, []string{"theirs", "ours-a-0", "ours-a-1"}, c.Evicted())
		require.Contains(t, explained(e, "a-0"), "evictions by our own taints go on")
	}
}

// A permission for everything and a policy that waits: for each domain, the stricter one wins.
func TestStrictestAnswerWins(t *testing.T) {
	cfg := config()
	cfg.RetryMax = time.Hour
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	c.AddPod("ours", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	c.AddPod("theirs", "a-1")
	pending := zone.Wait
	var shut closures
	e := c.Start(cfg, evictor.Options{Policy: switched(&pending), MayHarmIn: shut.may})
	shut.evictor = e
	c.Fail("a-0")
	c.Advance(time.Minute)
	shut.set("a", "upgrade")
	c.Taint("a-1", drain)
	c.Advance(2 * time.Minute)
	require.Empty(t, c.Evicted())
	require.Contains(t, explained(e, "default/ours"), "eviction held back: MayHarm: zone :a: upgrade")
	shut.set("a", "")
	c.Advance(time.Minute)
	require.Equal(t, []string{"theirs"}, c.Evicted())
	require.Contains(t, explained(e, "default/ours"), "eviction held back: ZonePolicy: policy of zone :a: Wait")
	pending = zone.GoOn
	c.Advance(10 * time.Second)
	require.Equal(t, []string{"theirs", "ours"}, c.Evicted())
}

// A policy that says Cancel cancels evictions by our own taints and lifts the taints. A node that has still failed
// later starts over.
func TestPolicyThatCancelsLiftsOurTaints(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod = period
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
		c.AddPod("ours", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60), toleratesDrain)
		c.AddPod("theirs", "a-0", evictortest.TolerateFor("drain", 100), evictortest.TolerateFor(v1.TaintNodeUnreachable, 3600))
		pending := zone.GoOn
		e := c.Start(cfg, evictor.Options{Policy: switched(&pending)})
		c.Fail("a-0", "a-1", "b-0")
		c.Advance(48 * time.Second)
		require.True(t, c.HasNoExecute("a-0"))
		require.False(t, c.HasNoExecute("a-1"), "it waits")
		c.Taint("a-0", drain)
		pending = zone.Cancel
		c.Advance(3 * time.Minute)
		require.False(t, c.HasNoExecute("a-0"))
		require.False(t, c.HasNoExecute("a-1"))
		require.Empty(t, e.Waiting())
		require.Equal(t, []string{"theirs"}, c.Evicted())
		require.Contains(t, explained(e, "default/ours"), "eviction cancelled: ZonePolicy")
		require.Contains(t, explained(e, "a-1"), "no longer waits: ZonePolicy")
		require.Contains(t, explained(e, "a-1"), "permission in zone :a: our own taints and evictions by them are given up: policy of zone :a: Cancel")
		pending = zone.GoOn
		c.Advance(30 * time.Second)
		require.True(t, c.HasNoExecute("a-0") && c.HasNoExecute("a-1"))
		require.Equal(t, []string{"theirs"}, c.Evicted(), "it tolerates the new taint anew")
		c.Advance(time.Minute)
		require.Equal(t, []string{"theirs", "ours"}, c.Evicted())
	}
}

// Without taints, the evictions of a node's pods are what is pending.
func TestPolicyWithoutTaints(t *testing.T) {
	for _, row := range []struct {
		pending zone.Pending
		waits   []string
	}{{zone.Wait, []string{"a-0 in :a", "a-1 in :a"}}, {zone.Cancel, nil}} {
		cfg := config()
		cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
		c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8), evictortest.PodsPerNode(1))
		pending := row.pending
		e := c.Start(cfg, evictor.Options{Policy: switched(&pending)})
		c.Fail("a-0", "a-1")
		c.Taint("a-7", drain)
		c.Advance(5 * time.Minute)
		require.Equal(t, []string{"a-7-p0"}, c.Evicted())
		require.Equal(t, row.waits, waiting(e))
		pending = zone.GoOn
		c.Advance(5 * time.Second)
		require.Equal(t, []string{"a-7-p0", "a-0-p0"}, c.Evicted())
		pending = row.pending
		c.Advance(5 * time.Second)
		c.AddPod("late", "a-0")
		c.Advance(time.Minute)
		require.Equal(t, []string{"a-7-p0", "a-0-p0"}, c.Evicted())
		pending = zone.GoOn
		c.Advance(30 * time.Second)
		require.ElementsMatch(t, []string{"a-7-p0", "a-0-p0", "a-1-p0", "late"}, c.Evicted())
	}
}
