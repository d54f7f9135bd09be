package evictor_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

func TestUnsyncedStoreDecidesNothing(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	clients := c.Clients()
	clients.Nodes = unsynced{clients.Nodes}
	e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock()})
	require.NoError(t, err)
	next, err := e.Step(context.Background())
	require.NoError(t, err)
	require.Equal(t, evictortest.Epoch.Add(time.Second), next)
}

type unsynced struct{ evictor.NodeStore }

func (unsynced) Synced() bool { return false }

// kinds counts the decisions by kind.
func (d *diary) kinds() map[evictor.Kind]int {
	count := map[evictor.Kind]int{}
	for _, decision := range d.all {
		count[decision.Kind]++
	}
	return count
}

// TaintEviction alone: nodes are not watched, written or reported. Our own taints are like foreign ones: they wait for
// no rate and no grace period, and a pause holds them back.
func TestTaintEvictionAlone(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		cfg.Half, cfg.NodeEvictionRate = evictor.TaintEviction, 0
		var told diary
		c := evictortest.New(t, evictortest.Zone("a", 3))
		for _, node := range []string{"a-0", "a-1", "a-2"} {
			c.AddPod("p-"+node, node, evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
		}
		unreachable := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
		c.Taint("a-0", unreachable) // before it starts
		e := c.Start(cfg, evictor.Options{Observer: &told})
		c.Fail("a-0", "a-1", "a-2")
		c.Advance(10 * time.Minute)
		require.Equal(t, []string{"p-a-0"}, c.Evicted(), "and nobody minds that all are silent")
		require.False(t, c.HasNoExecute("a-1"))
		require.True(t, c.HasNoExecute("a-0"), "it is not ours to lift")
		require.Empty(t, e.Zones())
		require.Equal(t, map[evictor.Kind]int{evictor.EvictionArmed: 1, evictor.PodEvicted: 1}, told.kinds())

		c.Taint("a-1", unreachable)
		c.Taint("a-2", unreachable)
		c.Advance(30 * time.Second)
		e.Pause("upgrade")
		c.Untaint("a-2", unreachable.Key, unreachable.Effect)
		c.Advance(time.Minute)
		require.Equal(t, []string{"p-a-0"}, c.Evicted())
		e.Resume("upgrade")
		c.Advance(0)
		require.Equal(t, []string{"p-a-0", "p-a-1"}, c.Evicted(), "at once, at rate 0")
		c.DeleteNode("a-2")
		c.Advance(time.Minute)
		require.Equal(t, map[evictor.Kind]int{
			evictor.EvictionArmed: 3, evictor.EvictionDelayed: 1, evictor.EvictionCancelled: 1, evictor.PodEvicted: 2, evictor.GateChanged: 2,
		}, told.kinds())
	}
}

// Lifecycle alone: nodes are watched, tainted and lifted as usual, and no eviction is armed because of taints.
func TestLifecycleAlone(t *testing.T) {
	cfg := config()
	cfg.Half = evictor.Lifecycle
	var told diary
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	e := c.Start(cfg, evictor.Options{Observer: &told})
	c.Fail("a-0")
	c.Taint("a-1", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(20 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.Empty(t, c.Evicted())
	count := told.kinds()
	require.Positive(t, count[evictor.PodMarkedNotReady])
	require.Zero(t, count[evictor.EvictionArmed]+count[evictor.EvictionCancelled]+count[evictor.PodEvicted])
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.False(t, c.HasNoExecute("a-0"))
	require.Len(t, e.Zones(), 1)
}

// A dry run remembers every label that it would have written, not only the last ones. Otherwise each forgotten one
// would be due again, for ever.
func TestDryRunRemembersTheLabelsOfEveryWrite(t *testing.T) {
	node := &v1.Node{}
	node.Name = "n"
	b := &bare{nodes: map[string]*v1.Node{"n": node}}
	var told diary
	e, clk := b.starts(t, evictor.Options{DryRun: true, Observer: &told})
	for written, label := range []string{v1.LabelOSStable, v1.LabelArchStable} {
		node = node.DeepCopy()
		metav1.SetMetaDataLabel(&node.ObjectMeta, label, "any")
		b.nodes["n"] = node
		e.NodeChanged("n")
		next, err := e.Step(context.Background())
		require.NoError(t, err)
		require.True(t, next.After(clk.Now()))
		clk.SetTime(clk.Now().Add(time.Second))
		require.Len(t, told.of(evictor.LabelsWritten), written+1)
	}
}

// whileVisiting is a store that says whether it is within Nodes, where reading a store with a lock would deadlock.
type whileVisiting struct {
	evictor.NodeStore
	visiting bool
}

func (s *whileVisiting) Nodes(visit func(*v1.Node) bool) {
	s.visiting = true
	s.NodeStore.Nodes(visit)
	s.visiting = false
}

func TestDryRunReadsNoStoreWhileItVisits(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	store := &whileVisiting{NodeStore: clients.Nodes}
	clients.Nodes = &shows{store, func(_ string, node *v1.Node, ok bool) (*v1.Node, bool) {
		require.False(t, store.visiting)
		return node, ok
	}}
	s := stepped(t, c, config(), clients, evictor.Options{DryRun: true})
	s.run(time.Second)
	require.Len(t, s.e.Zones(), 1)
}

// A dry run believes the lease of an Unknown node again. Otherwise it would wait for a status report, which the kubelet
// has no reason to make, because nothing was written.
func TestDryRunBelievesTheLeaseAgain(t *testing.T) {
	for _, renew := range []func(e *evictor.Evictor, node string, now time.Time){
		func(e *evictor.Evictor, node string, now time.Time) { e.LeaseRenewed(node, now) },
		func(e *evictor.Evictor, node string, now time.Time) {
			e.LeaseObserved(node, now, strconv.FormatInt(now.Unix(), 10))
		},
	} {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		c.Fail("a-0", "a-1", "a-2") // the test renews
		s := stepped(t, c, config(), c.Clients(), evictor.Options{DryRun: true})
		step := func(seconds int, renews ...string) {
			for range seconds {
				for _, node := range renews {
					renew(s.e, node, c.Clock().Now())
				}
				s.run(time.Second)
			}
		}
		step(100, "a-1", "a-2")
		st, _ := s.e.Node("a-0")
		require.Equal(t, v1.ConditionUnknown, st.Verdict.Ready)
		require.Equal(t, 1, st.Evictions)
		step(6, "a-0", "a-1", "a-2")
		st, _ = s.e.Node("a-0")
		require.Equal(t, v1.ConditionTrue, st.Verdict.Ready)
		require.Zero(t, st.Evictions)
	}
}
