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

// Evictions by foreign taints never wait for a zone. They happen when they are due or, if that was not permitted, as
// soon as it is, even at rate 0.
func TestForeignTaintsWaitForNoZone(t *testing.T) {
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	blind := errors.New("blind for a second")
	harmless := errors.New("not now")
	for name, row := range map[string]struct {
		close, open func(e *evictor.Evictor, permission *error)
	}{
		"never closed":  {func(*evictor.Evictor, *error) {}, func(*evictor.Evictor, *error) {}},
		"blind":         {func(e *evictor.Evictor, _ *error) { e.SetObserverHealth(blind) }, func(e *evictor.Evictor, _ *error) { e.SetObserverHealth(nil) }},
		"paused":        {func(e *evictor.Evictor, _ *error) { e.Pause("upgrade") }, func(e *evictor.Evictor, _ *error) { e.Resume("upgrade") }},
		"not permitted": {func(e *evictor.Evictor, p *error) { *p = harmless; e.Kick() }, func(e *evictor.Evictor, p *error) { *p = nil; e.Kick() }},
	} {
		for _, period := range []time.Duration{0, 5 * time.Second} {
			t.Run(name+" "+period.String(), func(t *testing.T) {
				cfg := config()
				cfg.NodeMonitorPeriod, cfg.RetryMax, cfg.GateInterval = period, time.Hour, time.Hour
				c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.Zone("b", 5))
				c.AddPod("on-a-ready-node", "a-0")
				c.AddPod("on-a-failed-node", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 3600))
				c.AddPod("under-both-taints", "a-1")
				c.AddPod("under-ours-alone", "a-1", v1.Toleration{Key: "drain", Operator: v1.TolerationOpExists}, evictortest.TolerateFor(v1.TaintNodeUnreachable, 92))
				var permission error
				e := c.Start(cfg, evictor.Options{MayHarm: func() error { return permission }})
				c.Fail("a-1")
				c.Advance(70 * time.Second)
				require.True(t, c.HasNoExecute("a-1"))
				require.Equal(t, []string{"under-both-taints"}, c.Evicted(), "by ours")
				c.AddPod("under-both-taints-again", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
				c.Fail("a-2", "a-3", "a-4") // 4 of 6 bad: the small zone stops
				c.Advance(59 * time.Second)
				require.Zero(t, e.Zones()[0].Rate)
				row.close(e, &permission)
				c.Taint("a-0", drain)
				c.Taint("a-1", drain)
				c.Advance(10 * time.Second) // the evictions by our taint fall due too
				row.open(e, &permission)
				c.Advance(0)
				want := []string{"under-both-taints", "on-a-ready-node", "on-a-failed-node", "under-both-taints-again"}
				if name == "never closed" {
					want = append(want, "under-ours-alone")
				}
				require.ElementsMatch(t, want, c.Evicted())
			})
		}
	}
}

// Evictions by foreign taints that fell due without permission make no node wait for a turn.
func TestForeignTaintsMakeNoNodeWait(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 5), evictortest.PodsPerNode(1))
	e := c.Start(config())
	c.Advance(20 * time.Second)
	e.Pause("upgrade")
	c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	e.Resume("upgrade")
	require.Empty(t, e.Waiting())
	c.Advance(0)
	require.Empty(t, e.Waiting())
	require.Equal(t, []string{"80.000"}, times(says(c, `"evict"`)))
}

// Only evictions by our own taints that fell due without permission wait for the zone's rate; the node's other pods
// leave on time.
func TestWhatFallsDueLaterWaitsForNoTurn(t *testing.T) {
	cfg := config()
	cfg.NodeEvictionRate = 0.001
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("while-paused", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	c.AddPod("afterwards", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 120))
	c.AddPod("moved", "a-1", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	e := c.Start(cfg)
	c.Fail("a-1")
	c.Advance(50 * time.Second)
	require.True(t, c.HasNoExecute("a-1"))
	e.Pause("upgrade")
	c.Advance(65 * time.Second)
	c.Tolerate("moved", evictortest.TolerateFor(v1.TaintNodeUnreachable, 120))
	e.Resume("upgrade")
	c.Advance(40 * time.Second)
	require.Empty(t, c.Evicted())
	c.Advance(15 * time.Second)
	require.ElementsMatch(t, []string{"afterwards", "moved"}, c.Evicted(), "at 165 s")
	c.Advance(20 * time.Minute)
	require.ElementsMatch(t, []string{"afterwards", "moved", "while-paused"}, c.Evicted(), "by the next token")
}
