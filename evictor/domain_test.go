package evictor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// The program chooses domains: nodes count and wait where it says, whatever their labels. A node that it excludes
// counts nowhere and is still acted on. A node whose domain changes keeps its place in line.
func TestTheProgramChoosesDomains(t *testing.T) {
	even, odd := zone.Key{Zone: "even"}, zone.Key{Zone: "odd"}
	moved := false
	c := evictortest.New(t, evictortest.Zone("a", 12))
	e := start(c, config(), evictor.Options{
		Domain: func(node *v1.Node) zone.Key {
			if last := node.Name[len(node.Name)-1]; last%2 == 0 && !(moved && node.Name == "a-4") {
				return even
			}
			return odd
		},
		Excluded: func(node *v1.Node) bool { return node.Name == "a-1" || node.Name == "a-3" },
	})
	c.Advance(10 * time.Second)
	zones := e.Nodes().Zones()
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
	require.Equal(t, zone.Counts{Total: 6, Bad: 3}, e.Nodes().Zones()[0].Counts)
	require.Equal(t, zone.Counts{Total: 4}, e.Nodes().Zones()[1].Counts)

	moved = true
	e.NodeChanged("a-4")
	c.Advance(10 * time.Second)
	require.True(t, c.HasNoExecute("a-2"))
	require.True(t, c.HasNoExecute("a-4"), "by a token of the domain that it moved to")
	require.Equal(t, zone.Counts{Total: 5, Bad: 1}, e.Nodes().Zones()[1].Counts)
}

// While Domain panics about a node from the start, harm is asked about in the zone of its labels.
func TestADomainThatPanicsIsTheZone(t *testing.T) {
	in := make(map[zone.Key]bool)
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	start(c, config(), evictor.Options{
		Domain:  func(*v1.Node) zone.Key { panic("a bug of the program's") },
		OnPanic: survived,
		Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			in[act.Domain] = in[act.Domain] || act.Do == gate.Harm
			return nil
		}),
	})
	c.Taint("a-0", drain)
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.Equal(t, map[zone.Key]bool{{}: false, {Zone: "a"}: true}, in)
}

func TestNodeChangesZoneWhileItWaits(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	start(c, config())
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(46 * time.Second)
	c.Relabel("a-2", zone.Key{Zone: "b"}) // third in its own line, first in the other
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"45.000"}, times(says(c, "NoExecute", "a-0")))
	require.Equal(t, []string{"55.000"}, times(says(c, "NoExecute", "a-1")))
	require.Equal(t, []string{"50.000"}, times(says(c, "NoExecute", "a-2")))
}

var drain = v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}

// A permission for one domain stops all harm there, including evictions by foreign taints, and nothing elsewhere.
// Recovery goes on.
func TestPermissionOfOneDomainStopsHarmThere(t *testing.T) {
	a := zone.Key{Zone: "a"}
	harmless := errors.New("the storage of a is rebuilt")
	for name, row := range map[string]struct {
		close, open func(e *tested, permission *error)
		why         string
	}{
		"not permitted": {
			func(e *tested, p *error) { *p = harmless; e.Kick() },
			func(e *tested, p *error) { *p = nil; e.Kick() },
			"zone :a: the storage of a is rebuilt",
		},
	} {
		for _, period := range []time.Duration{0, 5 * time.Second} {
			t.Run(name+" "+period.String(), func(t *testing.T) {
				cfg := config()
				cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.RetryMax, cfg.Nodes.GateInterval = period, time.Hour, time.Hour
				c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
				for _, z := range []string{"a", "b"} {
					for _, n := range []string{"-0", "-1"} {
						c.AddPod("ours-"+z+n, z+n, evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
					}
					c.AddPod("theirs-"+z, z+"-7")
				}
				var permission error
				e := start(c, cfg, evictor.Options{Gate: mayHarmIn(func(domain zone.Key) error {
					if domain != a {
						return nil
					}
					return permission
				})})
				c.Fail("a-0", "a-1", "a-2", "b-0", "b-1", "b-2")
				c.Advance(65 * time.Second)
				require.True(t, c.HasNoExecute("a-1") && c.HasNoExecute("b-1"))
				c.Fail("a-3", "b-3")
				row.close(e, &permission)
				c.Taint("a-7", drain)
				c.Taint("b-7", drain)
				c.Recover("a-2", "b-2")
				c.Advance(5 * time.Minute)
				require.ElementsMatch(t, []string{"ours-b-0", "ours-b-1", "theirs-b"}, c.Evicted())
				require.False(t, c.HasNoExecute("a-3"))
				require.True(t, c.HasNoExecute("b-3"))
				require.False(t, c.HasNoExecute("a-2"), "recovery goes on")
				require.Equal(t, []string{"a-3 in :a"}, waiting(e))
				require.Zero(t, e.Nodes().Waiting()[0].Turn)
				require.Contains(t, explained(e, "default/theirs-a"), "eviction held back: Breaker: "+strings.TrimPrefix(row.why, "zone :a: "))
				require.Contains(t, explained(e, "a-3"), "permission in zone :a: taints and evictions are held back: "+strings.TrimPrefix(row.why, "zone :a: "))
				require.NotContains(t, explained(e, "b-3"), "permission")
				st, _ := e.Nodes().Node("a-3")
				require.EqualError(t, st.HeldBack, strings.TrimPrefix(row.why, "zone :a: "))
				st, _ = e.Nodes().Node("b-3")
				require.NoError(t, st.HeldBack)

				row.open(e, &permission)
				c.Advance(0)
				require.Contains(t, c.Evicted(), "theirs-a", "at once")
				require.Len(t, c.Evicted(), 4, "and of ours none: no token has accrued")
				c.Advance(10 * time.Second)
				require.Len(t, c.Evicted(), 5, "then those of one node, at the zone's rate")
				c.Advance(10 * time.Second)
				require.Len(t, c.Evicted(), 6, "and of the other")
				require.False(t, c.HasNoExecute("a-3"))
				c.Advance(10 * time.Second)
				require.True(t, c.HasNoExecute("a-3"))
				require.Contains(t, explained(e, "a-3"), "permission in zone :a: taints and evictions go on")
			})
		}
	}
}

func explained(e *tested, key string) string {
	var b strings.Builder
	for _, d := range e.Explain(key) {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// A permission outlives the last node of its domain.
func TestDomainThatReturnsIsStillClosed(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	var shut closures
	e := start(c, config(), evictor.Options{Gate: mayHarmIn(shut.may)})
	shut.evictor = e
	b := zone.Key{Zone: "b"}
	shut.set("b", "not ready for traffic") // before the domain exists
	for range 2 {
		c.AddNode("b-0", b)
		c.AddNode("b-1", b)
		c.Advance(time.Minute)
		c.Fail("b-0")
		c.Advance(5 * time.Minute)
		require.False(t, c.HasNoExecute("b-0"))
		c.DeleteNode("b-0")
		c.DeleteNode("b-1")
		c.Advance(time.Hour)
	}
	require.Len(t, e.Nodes().Zones(), 1)
	shut.set("b", "")
	c.AddNode("b-0", b)
	c.AddNode("b-1", b)
	c.Advance(time.Minute)
	c.Fail("b-0")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("b-0"))
}

// A node that moves to an open domain leaves the closure behind, and one that moves the other way is held back.
func TestNodeThatMovesLeavesTheClosureBehind(t *testing.T) {
	cfg := config()
	cfg.Nodes.RetryMax, cfg.Nodes.GateInterval = time.Hour, time.Hour
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	c.AddPod("ours", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	c.AddPod("theirs", "a-1", evictortest.TolerateFor("drain", 60))
	c.AddPod("moved-there", "b-1", evictortest.TolerateFor("drain", 300))
	clients, zones := c.Clients(), map[string]string{}
	clients.Nodes = &shows{clients.Nodes, func(name string, node *v1.Node, ok bool) (*v1.Node, bool) {
		if zones[name] != "" {
			node = node.DeepCopy()
			node.Labels[v1.LabelTopologyZone] = zones[name]
		}
		return node, ok
	}}
	var shut closures
	e := startWith(t, c, cfg, clients, evictor.Options{Gate: mayHarmIn(shut.may)})
	shut.evictor = e
	move := func(node, zone string) {
		zones[node] = zone
		e.NodeChanged(node)
	}
	c.Fail("a-0", "a-2")
	c.Advance(48 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	shut.set("a", "upgrade")
	c.Taint("a-1", drain)
	c.Taint("b-1", drain)
	c.Advance(2 * time.Minute)
	require.Empty(t, c.Evicted())
	for _, node := range []string{"a-0", "a-1", "a-2"} {
		move(node, "b")
	}
	move("b-1", "a")
	c.Advance(5 * time.Second)
	require.Contains(t, c.Evicted(), "theirs")
	c.Advance(30 * time.Second)
	require.ElementsMatch(t, []string{"theirs", "ours"}, c.Evicted())
	require.True(t, c.HasNoExecute("a-2"))
	c.Advance(10 * time.Minute)
	require.Len(t, c.Evicted(), 2)
	move("b-1", "b")
	c.Advance(5 * time.Second)
	require.Contains(t, c.Evicted(), "moved-there")
}

// A Gate is asked without a lock: it may call the evictor.
func TestGatesMayCallTheEvictor(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.PodsPerNode(1))
	var e *tested
	asked := map[zone.Key]int{}
	e = start(c, config(), evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
		if e != nil {
			e.Nodes().Waiting()
			e.Nodes().Node("a-0")
			e.Paused()
		}
		if act.Do == gate.Harm {
			asked[act.Domain]++
		}
		return nil
	})})
	c.Advance(time.Minute)
	require.Empty(t, asked, "no node waits, nothing is evicted")
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.NotEmpty(t, c.Evicted())
	require.Len(t, asked, 1)
}

// closures is what a program knows of domains in which it permits no harm. It tells the evictor of a change by Kick.
type closures struct {
	evictor *tested
	why     map[zone.Key]error
}

func (c *closures) may(domain zone.Key) error { return c.why[domain] }

// set closes a domain or, without a reason, opens it.
func (c *closures) set(zoneOf, reason string) {
	if c.why == nil {
		c.why = map[zone.Key]error{}
	}
	if c.why[zone.Key{Zone: zoneOf}] = nil; reason != "" {
		c.why[zone.Key{Zone: zoneOf}] = errors.New(reason)
	}
	if c.evictor != nil {
		c.evictor.Kick()
	}
}

// In exact mode, where passes come only when a verdict may change, a node that is deleted may be the last healthy one.
func TestLastNodeThatIsWellGoesInExactMode(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 2))
	e := start(c, cfg)
	c.Fail("b-0", "b-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("b-0"))
	c.DeleteNode("a-0")
	c.Advance(0)
	require.True(t, e.Nodes().AllZonesDown())
	require.False(t, c.HasNoExecute("b-0"))
	require.Len(t, e.Nodes().Zones(), 1)
}

// A live kubelet that still says that it is not ready need not be watched for a grace period.
func TestNodeThatSaysItIsNotReadyIsTaintedAtItsNextReportAfterEveryZoneWasDown(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 2))
	start(c, cfg)
	c.Advance(time.Minute)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Fail("a-1")
	c.Advance(2 * time.Minute)
	c.Recover("a-1")
	c.Advance(30 * time.Second)
	c.Advance(time.Minute)
	require.Equal(t, []string{"190.000"}, times(says(c, "NoExecute", "a-0", "add"))[1:])
}

func TestEveryZoneDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.Zone("b", 2), evictortest.PodsPerNode(1))
	start(c, config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	c.Fail("b-0", "b-1")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"165.000"}, times(says(c, "AllZonesDisrupted")))
	require.False(t, c.HasNoExecute("a-0"), "lifted while every zone is down")
	require.Equal(t, []string{"165.000", "165.000"}, times(says(c, `"cancel"`)))
	require.Len(t, says(c, `"podNotReady"`), 2, "none of b is marked: it went down with the last zone")
	c.Recover("b-0")
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"245.000"}, times(says(c, `"cluster"`, "Normal")))
	require.False(t, c.HasNoExecute("a-0"), "one more grace period")
	c.Advance(30 * time.Second)
	require.Equal(t, []string{"45.000", "55.000", "290.000", "290.000", "300.000"}, times(says(c, "NoExecute", "add")))
	require.Empty(t, c.Evicted())
}

func TestNewcomerEndsAllDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2))
	start(c, config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.NotEmpty(t, says(c, "AllZonesDisrupted"))
	c.AddNode("n-0", zone.Key{Zone: "n"})
	c.Advance(10 * time.Second)
	require.NotEmpty(t, says(c, `"cluster"`, "Normal"))
}

func TestForeignTaintsGoOnWhileEveryZoneIsDown(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	start(c, config())
	c.Fail("a-0", "a-1")
	c.Advance(2 * time.Minute)
	require.NotEmpty(t, says(c, "AllZonesDisrupted"))
	c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(0)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// A domain in which harm is refused loses its last node, and gets another: nobody there is asked about, as before.
func TestDomainThatComesBackIsStillClosed(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1), evictortest.Zone("b", 6))
	var told diary
	in := &closures{}
	in.set("a", "Storm")
	start(c, config(), evictor.Options{Gate: mayHarmIn(in.may), Observer: &told})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Len(t, told.of("TurnRefused"), 1)
	c.DeleteNode("a-0")
	c.Advance(time.Minute)
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.Advance(time.Minute)
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Len(t, told.of("NodeQueued"), 2)
	require.Len(t, told.of("TurnRefused"), 1)
}
