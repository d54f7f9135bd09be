package evictor_test

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

func TestConfigReportsEveryFault(t *testing.T) {
	require.NoError(t, evictor.DefaultConfig().Validate())
	err := evictor.Config{
		NodeMonitorPeriod: -1, NodeMonitorGracePeriod: 0, NodeStartupGracePeriod: -time.Second,
		NodeEvictionRate: math.NaN(), SecondaryNodeEvictionRate: math.Inf(1), MaxNodesPerSecond: -1,
		LargeClusterSizeThreshold: -1, UnhealthyZoneThreshold: 1.5, PodEvictionTimeout: 0, MaxFailedNodes: -1,
		ExplainSize: -1, RetryMax: -1,
	}.Validate()
	for _, field := range []string{
		"nodeMonitorPeriod", "nodeMonitorGracePeriod", "nodeStartupGracePeriod", "nodeEvictionRate", "secondaryNodeEvictionRate", "maxNodesPerSecond",
		"largeClusterSizeThreshold", "unhealthyZoneThreshold", "podEvictionTimeout", "maxFailedNodes", "nodeWorkers", "podWorkers",
		"retryInitial", "retryMax", "gateInterval", "explainSize",
	} {
		require.ErrorContains(t, err, field)
	}
	cfg := evictor.DefaultConfig()
	cfg.NodeMonitorGracePeriod, cfg.NodeStartupGracePeriod = 5*time.Second, time.Second
	require.ErrorContains(t, cfg.Validate(), "must exceed nodeMonitorPeriod")
	for _, threshold := range []float64{0, -0.1, math.NaN(), 1.01} {
		cfg := evictor.DefaultConfig()
		cfg.UnhealthyZoneThreshold = threshold
		require.Error(t, cfg.Validate())
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := evictor.New(evictor.DefaultConfig(), evictor.Clients{}, evictor.Options{})
	for _, name := range []string{"clients.nodes", "clients.pods", "clients.nodeWriter", "clients.podWriter"} {
		require.ErrorContains(t, err, name)
	}
}

// A nil pointer in an interface would panic at its first use, so it is reported like a missing value.
func TestNewNamesWhatIsThereInTypeAlone(t *testing.T) {
	var store *bare
	var clk *testingclock.FakePassiveClock
	var policy *zone.DisruptionPolicy
	var sink *silent
	var source *brought
	_, err := evictor.New(evictor.DefaultConfig(), evictor.Clients{Nodes: store, Pods: store, NodeWriter: store, PodWriter: store, EventSink: sink, Source: source},
		evictor.Options{Clock: clk, Policy: policy, Observer: evictor.ObserverFunc(nil)})
	for _, name := range []string{"clients.nodes", "clients.pods", "clients.nodeWriter", "clients.podWriter", "clients.eventSink", "clients.source", "options.clock", "options.observer", "options.policy"} {
		require.ErrorContains(t, err, name)
	}
}

type silent struct{}

func (*silent) Event(evictor.Event) {}

func TestRunNeedsTimers(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: testingclock.NewFakePassiveClock(evictortest.Epoch)})
	require.NoError(t, err)
	require.ErrorContains(t, e.Run(context.Background()), "timers")
}

func TestStepBesideStep(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	e := c.Start(config())
	c.Fail("a-0")
	var inner error
	c.FailWrites(func(string, string) error {
		_, inner = e.Step(context.Background())
		e.NodeChanged("a-0") // feeding from inside a client's call is fine
		return nil
	})
	c.Advance(time.Minute)
	require.ErrorIs(t, inner, evictor.ErrRunning)
}

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

// Faults come in the order of the fields.
func TestConfigBoundsWhatItTakes(t *testing.T) {
	cfg := evictor.DefaultConfig()
	cfg.Half, cfg.NodeWorkers, cfg.PodWorkers, cfg.ExplainSize = evictor.TaintEviction+1, 0, 0, 1<<20+1
	for range 20 {
		require.EqualError(t, cfg.Validate(), "[half: Invalid value: 0x3: must be Both, Lifecycle or TaintEviction, "+
			"nodeWorkers: Invalid value: 0: must be greater than 0, podWorkers: Invalid value: 0: must be greater than 0, "+
			"explainSize: Invalid value: 1048577: must lie between 0 and 1048576]")
	}
	cfg = evictor.DefaultConfig()
	cfg.ExplainSize = 1 << 20
	require.NoError(t, cfg.Validate())
	cfg.ExplainSize = math.MaxInt
	_, err := evictor.New(cfg, evictor.Clients{}, evictor.Options{})
	require.ErrorContains(t, err, "explainSize")
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
