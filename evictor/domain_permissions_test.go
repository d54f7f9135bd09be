package evictor_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

var (
	drain          = v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	toleratesDrain = v1.Toleration{Key: "drain", Operator: v1.TolerationOpExists}
)

// A permission for one domain stops all harm there, including evictions by foreign taints, and nothing elsewhere.
// Recovery goes on.
func TestPermissionOfOneDomainStopsHarmThere(t *testing.T) {
	a := zone.Key{Zone: "a"}
	harmless := errors.New("the storage of a is rebuilt")
	for name, row := range map[string]struct {
		close, open func(e *evictor.Evictor, permission *error)
		why         string
	}{
		"not permitted": {
			func(e *evictor.Evictor, p *error) { *p = harmless; e.Kick() },
			func(e *evictor.Evictor, p *error) { *p = nil; e.Kick() },
			"zone :a: the storage of a is rebuilt",
		},
	} {
		for _, period := range []time.Duration{0, 5 * time.Second} {
			t.Run(name+" "+period.String(), func(t *testing.T) {
				cfg := config()
				cfg.NodeMonitorPeriod, cfg.RetryMax, cfg.GateInterval = period, time.Hour, time.Hour
				c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
				for _, z := range []string{"a", "b"} {
					for _, n := range []string{"-0", "-1"} {
						c.AddPod("ours-"+z+n, z+n, evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
					}
					c.AddPod("theirs-"+z, z+"-7")
				}
				var permission error
				e := c.Start(cfg, evictor.Options{MayHarmIn: func(domain zone.Key) error {
					if domain != a {
						return nil
					}
					return permission
				}})
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
				require.Zero(t, e.Waiting()[0].Turn)
				require.Contains(t, explained(e, "default/theirs-a"), "eviction held back: MayHarm: "+row.why)
				require.Contains(t, explained(e, "a-3"), "permission in zone :a: taints and evictions are held back: "+row.why)
				require.NotContains(t, explained(e, "b-3"), "permission")
				st, _ := e.Node("a-3")
				require.EqualError(t, st.HeldBack, row.why)
				st, _ = e.Node("b-3")
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

func explained(e *evictor.Evictor, key string) string {
	var b strings.Builder
	for _, d := range e.Explain(key) {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// closures is what a program knows of domains in which it permits no harm. It tells the evictor of a change by Kick.
type closures struct {
	evictor *evictor.Evictor
	mu      sync.Mutex
	why     map[zone.Key]error
}

func (c *closures) may(domain zone.Key) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why[domain]
}

// set closes a domain or, without a reason, opens it.
func (c *closures) set(zoneOf, reason string) {
	c.mu.Lock()
	if c.why == nil {
		c.why = map[zone.Key]error{}
	}
	if c.why[zone.Key{Zone: zoneOf}] = nil; reason != "" {
		c.why[zone.Key{Zone: zoneOf}] = errors.New(reason)
	}
	c.mu.Unlock()
	if c.evictor != nil {
		c.evictor.Kick()
	}
}

// A permission outlives the last node of its domain.
func TestDomainThatReturnsIsStillClosed(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4))
	var shut closures
	e := c.Start(config(), evictor.Options{MayHarmIn: shut.may})
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
	require.Len(t, e.Zones(), 1)
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
	cfg.RetryMax, cfg.GateInterval = time.Hour, time.Hour
	c := evictortest.New(t, evictortest.Zone("a", 8), evictortest.Zone("b", 8))
	c.AddPod("ours", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
	c.AddPod("theirs", "a-1", evictortest.TolerateFor("drain", 60))
	c.AddPod("moved-there", "b-1", evictortest.TolerateFor("drain", 300))
	clients := c.Clients()
	labels := &labelled{NodeStore: clients.Nodes, zone: map[string]string{}}
	clients.Nodes = labels
	var shut closures
	e, err := evictor.New(cfg, clients, evictor.Options{Clock: c.Clock(), MayHarmIn: shut.may})
	require.NoError(t, err)
	shut.evictor = e
	c.Feed(e)
	c.Drive(e.Step)
	move := func(node, zone string) {
		labels.zone[node] = zone
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

// labelled is a store that shows nodes in other zones than the cluster does.
type labelled struct {
	evictor.NodeStore
	zone map[string]string
}

func (l *labelled) Node(name string) (*v1.Node, bool) {
	node, ok := l.NodeStore.Node(name)
	if zone := l.zone[name]; ok && zone != "" {
		node = node.DeepCopy()
		node.Labels[v1.LabelTopologyZone] = zone
	}
	return node, ok
}

// The user's functions are called without a lock: they may call the evictor.
func TestFencesMayCallTheEvictor(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.PodsPerNode(1))
	var e *evictor.Evictor
	asked := map[zone.Key]int{}
	look := func() error {
		if e != nil {
			e.Waiting()
			e.Node("a-0")
			e.Paused()
		}
		return nil
	}
	e = c.Start(config(), evictor.Options{MayWrite: look, MayHarm: look, MayHarmIn: func(domain zone.Key) error {
		asked[domain]++
		return look()
	}, OnPass: func(time.Duration) { _ = look() }})
	c.Advance(time.Minute)
	require.Empty(t, asked, "no node waits, nothing is evicted")
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.NotEmpty(t, c.Evicted())
	require.Len(t, asked, 1)
}
