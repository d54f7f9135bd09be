package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// A new leader spends no turns on nodes that the previous one has tainted, however many they are, and does not report
// that they wait.
func TestTakeOverGoesOnAtThePace(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		c := evictortest.New(t, evictortest.Zone("a", 60))
		r := newReplicas(t, c, cfg)
		r.run(30 * time.Second)
		for i := range 30 {
			c.Fail(fmt.Sprintf("a-%d", i))
		}
		for len(noExecute(c)) < 20 {
			r.run(time.Second)
		}
		for _, w := range r.members[1].Nodes().Waiting() {
			require.False(t, c.HasNoExecute(w.Verdict.Node), "%s waits though it is tainted", w.Verdict.Node)
		}
		require.Len(t, r.members[1].Nodes().Waiting(), 10)
		r.takeOver()
		r.run(31 * time.Second)
		require.GreaterOrEqual(t, len(noExecute(c)), 23)
		require.LessOrEqual(t, len(noExecute(c)), 24)
		require.Len(t, r.members[1].Nodes().Waiting(), 30-len(noExecute(c)))
	}
}

func unreachableNow(c *evictortest.Cluster) v1.Taint {
	now := metav1.NewTime(c.Clock().Now())
	return v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute, TimeAdded: &now}
}

// Evictions by our own taints that fell due while nobody led happen node by node, at the zone's rate, once somebody
// does. Those by foreign taints happen at once.
func TestWhatFellDueWhileNobodyLedKeepsThePace(t *testing.T) {
	var nobody error
	c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.PodsPerNode(2))
	start(c, config(), evictor.Options{Gate: mayWrite(func() error { return nobody })})
	for _, name := range []string{"a-0", "a-1", "a-2", "a-3"} {
		c.Fail(name)
	}
	c.Advance(4 * time.Minute)
	c.AddPod("guest", "a-9", evictortest.TolerateFor("drain", 60))
	c.Taint("a-9", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Second)
	nobody = errors.New("nobody leads")
	c.Advance(5 * time.Minute)
	require.Equal(t, []string{"a-9-p0", "a-9-p1"}, c.Evicted(), "which do not tolerate it, before")
	nobody = nil
	c.Advance(time.Second)
	require.Len(t, c.Evicted(), 3+2, "the guest, and the pods of one node")
	require.Contains(t, c.Evicted(), "guest")
	for nodes := 2; nodes <= 4; nodes++ {
		c.Advance(8 * time.Second)
		require.Len(t, c.Evicted(), 3+2*(nodes-1))
		c.Advance(2 * time.Second)
		require.Len(t, c.Evicted(), 3+2*nodes)
	}
}

// A node that somebody else taints while it waits leaves the line, and comes back when that taint is removed.
func TestNodeThatIsTaintedByOthersDoesNotWait(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeEvictionRate = 0.001
	c := evictortest.New(t, evictortest.Zone("a", 8))
	var told diary
	e := start(c, cfg, evictor.Options{Observer: &told})
	c.Fail("a-0", "a-1")
	c.Advance(time.Minute)
	require.Equal(t, []string{"a-1 in :a"}, waiting(e))
	c.Taint("a-1", unreachableNow(c))
	c.Advance(0)
	require.Empty(t, waiting(e))
	c.Advance(time.Minute)
	require.Empty(t, waiting(e))
	c.Untaint("a-1", unreachableNow(c).Key, unreachableNow(c).Effect)
	c.Advance(5 * time.Second)
	require.Equal(t, []string{"a-1 in :a"}, waiting(e))
	require.Len(t, told.of("NodeQueued", "a-1"), 2)
	require.Equal(t, []string{"a-1 Tainted"}, told.reasons("NodeDequeued"))
}

// After a start, a node that never reported is watched for its start-up grace, too, before its pods leave.
func TestStartEvictsNobodyFromANodeThatNeverReported(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		u := newUpstreams(t, cfg)
		u.node("node0", "", longAgo, "")
		u.node("node1", "", longAgo, v1.ConditionTrue)
		u.reporting["node1"] = true
		added := metav1.NewTime(u.clk.Now().Add(-time.Hour))
		u.nodes["node0"].Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute, TimeAdded: &added}}
		pod := u.pod("p", "node0")
		pod.CreationTimestamp = added
		pod.Spec.Tolerations = []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)}
		u.pass(55 * time.Second)
		require.Empty(t, u.evicted)
		u.pass(10 * time.Second)
		require.Equal(t, []string{"p"}, u.evicted)
	}
}

// A node that never reported is found silent after its start-up grace. That its silence is written then takes nothing back, even if
// the other grace is longer: its taint comes in that very pass, for its only token.
func TestAShortStartUpGraceEndsOnce(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		cfg.Nodes.NodeStartupGracePeriod, cfg.Nodes.NodeEvictionRate = 20*time.Second, 0.001
		u := newUpstreams(t, cfg)
		u.node("node0", "", longAgo, "")
		for _, name := range []string{"node1", "node2"} {
			u.node(name, "", longAgo, v1.ConditionTrue)
			u.reporting[name] = true
		}
		u.pass(15 * time.Second)
		require.Empty(t, u.taints("node0"))
		u.pass(10 * time.Second)
		require.Contains(t, strings.Join(u.taints("node0"), " "), "NoExecute")
	}
}

// Who begins to watch waits for one grace before it writes that a node is Unknown, taints it or marks its pods, whatever
// its object says, and however long ago it was created if it never said anything. For a node that appears later, the
// start-up grace counts from its creation. A node that lives and says itself that it is not ready is tainted at once.
func TestWhoBeginsToWatchWaitsAGrace(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		cfg.Nodes.NodeEvictionRate = 100
		u := newUpstreams(t, cfg)
		for i := range 9 {
			name := fmt.Sprint("well", i)
			u.node(name, "", longAgo, v1.ConditionTrue)
			u.reporting[name] = true
		}
		u.node("never", "", 58*time.Second, "")
		u.node("unknown", "", longAgo, v1.ConditionUnknown)
		u.node("unready", "", longAgo, v1.ConditionFalse)
		u.reporting["unready"] = true
		u.pod("p", "unknown")
		tainted, conditions := map[string]int{}, map[string]int{}
		for second := range 100 {
			switch second {
			case 15:
				u.node("comes", "", time.Second, "")
			case 18:
				u.says("well0", v1.ConditionFalse)
			}
			u.pass(0)
			for name, n := range u.nodes {
				if list := strings.Join(u.taints(name), " "); tainted[name] == 0 && strings.Contains(list, "NoExecute") {
					tainted[name] = second
				}
				if conditions[name] == 0 && len(n.Status.Conditions) == 4 {
					conditions[name] = second
				}
			}
			require.Equal(t, conditions["unknown"] > 0, u.marks > 0, second)
			u.clk.SetTime(u.clk.Now().Add(time.Second))
			for name := range u.reporting {
				u.conditions(name, slices.Clone(u.nodes[name].Status.Conditions)...)
			}
		}
		want := map[string]int{"never": 60, "unknown": 40, "unready": 1, "well0": 18, "comes": 74}
		if cfg.Nodes.NodeMonitorPeriod > 0 { // at the pass after that
			want = map[string]int{"never": 65, "unknown": 45, "unready": 5, "well0": 20, "comes": 80}
		}
		require.Equal(t, want, tainted)
		delete(want, "unready")
		delete(want, "well0")
		if cfg.Nodes.NodeMonitorPeriod > 0 {
			want["comes"] = 75 // and it is tainted once it was watched for a grace
		}
		require.Equal(t, want, conditions)
	}
}

// Where the observer is not healthy at the start, signs of life count only from then on.
func TestWhoBeginsBlindWatchesLater(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("well", "", longAgo, v1.ConditionTrue)
	u.node("unready", "", longAgo, v1.ConditionFalse)
	u.reporting["well"], u.reporting["unready"] = true, true
	u.e.SetObserverHealth(errors.New("no watch"))
	u.pass(time.Minute)
	u.e.SetObserverHealth(nil)
	u.reporting["unready"] = false
	u.pass(10 * time.Second)
	require.Equal(t, []string{unready + ":NoSchedule"}, u.taints("unready"))
	u.reporting["unready"] = true
	u.pass(5 * time.Second)
	require.Equal(t, bothEffects(unready), u.taints("unready"))
}

// After a start, an old node that never reported is watched for a whole start-up grace period before it is Unknown, and
// its pods are deleted once it has been silent for the timeout since, however old it is.
func TestANodeThatNeverReportedIsWatchedBeforeItIsEmptied(t *testing.T) {
	for _, cfg := range onBothGrids(withoutTaints(config(), 100*time.Second)) {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		c.Fail("a-0")
		c.Advance(time.Hour)
		clients := c.Clients()
		written := false
		clients.Nodes = &shows{clients.Nodes, func(name string, node *v1.Node, ok bool) (*v1.Node, bool) {
			if name == "a-0" && !written {
				node = node.DeepCopy()
				node.Status.Conditions = nil
			}
			return node, ok
		}}
		c.FailWrites(func(string, string) error {
			written = true // the conditions
			return nil
		})
		e, err := newTested(cfg, clients, evictor.Options{Clock: c.Clock()})
		require.NoError(t, err)
		c.Feed(e)
		c.Drive(e.Step)
		c.Advance(59 * time.Second)
		v, _ := e.Nodes().Node("a-0")
		require.Empty(t, v.Verdict.Ready)
		c.Advance(40 * time.Second)
		v, _ = e.Nodes().Node("a-0")
		require.EqualValues(t, "Unknown", v.Verdict.Ready)
		require.Empty(t, c.Evicted())
		c.Advance(7 * time.Second)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	}
}

// After etcd was restored, resourceVersions are lower. Kubelets that still report are alive, and a dead one is found
// all the same.
func TestVersionsOfARestoredClusterCondemnNobody(t *testing.T) {
	b := &bare{nodes: map[string]*v1.Node{}, pods: map[evictor.PodKey]*v1.Pod{}}
	e, clk := b.starts(t)
	version := 1000000
	report := func(name string) {
		node := &v1.Node{}
		node.Name, node.UID, node.ResourceVersion = name, "u", fmt.Sprint(version)
		node.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(clk.Now())}}
		b.nodes[name] = node
		e.NodeChanged(name)
	}
	for second := range 3600 {
		if second == 60 {
			version = 900000 // of yesterday's backup
		}
		for i := range 5 {
			name := fmt.Sprint("n", i)
			dead := i == 4 && second > 1800
			version++
			if second%10 == 0 && !dead {
				e.LeaseObserved(name, clk.Now(), fmt.Sprint(version))
			}
			if second%60 == 0 && !dead {
				report(name)
			}
		}
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		if second <= 1800 {
			require.Empty(t, b.wrote, "at %ds", second)
		}
		clk.SetTime(clk.Now().Add(time.Second))
	}
	require.Contains(t, b.wrote, "n4 Ready NodeStatusUnknown")
	for _, wrote := range b.wrote {
		require.Contains(t, wrote, "n4")
	}
}

// replicas are two evictors of one cluster. The first leads until the other takes over.
type replicas struct {
	t       *testing.T
	c       *evictortest.Cluster
	members [2]*tested
	leader  int
}

func newReplicas(t *testing.T, c *evictortest.Cluster, cfg evictor.Config) *replicas {
	r := &replicas{t: t, c: c}
	for i := range r.members {
		e, err := newTested(cfg, c.Clients(), evictor.Options{Clock: c.Clock(), Gate: mayWrite(func() error {
			if r.leader != i {
				return errors.New("another replica leads")
			}
			return nil
		})})
		require.NoError(t, err)
		r.members[i] = e
	}
	return r
}

func (r *replicas) run(d time.Duration) {
	for until := r.c.Clock().Now().Add(d); r.c.Clock().Now().Before(until); r.c.Advance(time.Second) {
		for _, e := range r.members {
			_, err := e.Step(context.Background())
			require.NoError(r.t, err)
		}
	}
}

func (r *replicas) takeOver() {
	r.leader = 1
	for _, e := range r.members {
		e.Kick()
	}
}
