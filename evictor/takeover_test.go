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

// replicas are two evictors of one cluster. The first leads until the other takes over.
type replicas struct {
	t       *testing.T
	c       *evictortest.Cluster
	members [2]*evictor.Evictor
	leader  int
}

func newReplicas(t *testing.T, c *evictortest.Cluster, cfg evictor.Config) *replicas {
	r := &replicas{t: t, c: c}
	for i := range r.members {
		e, err := evictor.New(cfg, c.Clients(), evictor.Options{Clock: c.Clock(), MayWrite: func() error {
			if r.leader != i {
				return errors.New("another replica leads")
			}
			return nil
		}})
		require.NoError(t, err)
		c.Feed(e)
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

// A new leader spends no turns on nodes that the previous one has tainted, however many they are, and does not report
// that they wait.
func TestTakeOverGoesOnAtThePace(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod = period
		c := evictortest.New(t, evictortest.Zone("a", 60))
		r := newReplicas(t, c, cfg)
		r.run(30 * time.Second)
		for i := range 30 {
			c.Fail(fmt.Sprintf("a-%d", i))
		}
		for len(noExecute(c)) < 20 {
			r.run(time.Second)
		}
		for _, w := range r.members[1].Waiting() {
			require.False(t, c.HasNoExecute(w.Node), "%s waits though it is tainted", w.Node)
		}
		require.Len(t, r.members[1].Waiting(), 10)
		r.takeOver()
		r.run(31 * time.Second)
		require.GreaterOrEqual(t, len(noExecute(c)), 23)
		require.LessOrEqual(t, len(noExecute(c)), 24)
		require.Len(t, r.members[1].Waiting(), 30-len(noExecute(c)))
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
	c.Start(config(), evictor.Options{MayWrite: func() error { return nobody }})
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
	cfg.NodeEvictionRate = 0.001
	c := evictortest.New(t, evictortest.Zone("a", 8))
	var told []string
	e := c.Start(cfg, evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Node == "a-1" && (d.Kind == evictor.NodeQueued || d.Kind == evictor.NodeDequeued) {
			told = append(told, d.Kind.String()+" "+d.Reason)
		}
	})})
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
	require.Equal(t, []string{"NodeQueued ", "NodeDequeued Tainted", "NodeQueued "}, told)
}

// An eviction that is due before its node has been watched for a grace period happens once that has passed. In exact
// mode there is no pass then, and a node that reports has no deadline.
func TestEvictionAfterARestartWaitsForItsGraceAndNoLongerInExactMode(t *testing.T) {
	cfg := config()
	cfg.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Heartbeats(10*time.Second, 10*time.Second))
	c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeNotReady, 100))
	c.Start(cfg)
	c.Advance(time.Minute)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(65 * time.Second)
	c.Restart() // at 125; p is due at 160
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"165.000"}, times(says(c, `"evict"`)))
}

// After a start, a node that never reported is watched for its start-up grace, too, before its pods leave.
func TestStartEvictsNobodyFromANodeThatNeverReported(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod = period
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

// Who begins to watch waits for one grace before it writes that a node is Unknown, taints it or marks its pods, whatever
// the node says, and however long ago it was created if it never said anything. For a node that appears later, the
// start-up grace counts from its creation, and one that fails later is tainted at once.
func TestWhoBeginsToWatchWaitsAGrace(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.NodeEvictionRate = period, 100
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
		want := map[string]int{"never": 60, "unknown": 40, "unready": 41, "well0": 18, "comes": 74}
		if period > 0 { // at the pass after that
			want = map[string]int{"never": 65, "unknown": 45, "unready": 46, "well0": 20, "comes": 75}
		}
		require.Equal(t, want, tainted) // unready waits for the next token
		delete(want, "unready")
		delete(want, "well0")
		require.Equal(t, want, conditions)
	}
}

// The same where the observer is not healthy at the start: we watch only from then on.
func TestWhoBeginsBlindWatchesLater(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("well", "", longAgo, v1.ConditionTrue)
	u.node("unready", "", longAgo, v1.ConditionFalse)
	u.reporting["well"], u.reporting["unready"] = true, true
	u.e.SetObserverHealth(errors.New("no watch"))
	u.pass(time.Minute)
	u.e.SetObserverHealth(nil)
	u.pass(40 * time.Second)
	require.Equal(t, []string{unready + ":NoSchedule"}, u.taints("unready"))
	u.pass(5 * time.Second)
	require.Equal(t, bothEffects(unready), u.taints("unready"))
}

func TestRestartKeepsDeadlines(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(200 * time.Second) // tainted at 45, due at 345
	c.Restart()
	c.Advance(200 * time.Second)
	require.Equal(t, []string{"345.000"}, times(says(c, `"evict"`)))
	require.Len(t, says(c, "NoExecute"), 1, "the taint stays through a restart")
}

func TestRestartWaitsForItsOwnGrace(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config())
	c.Fail("a-0")
	c.Advance(340 * time.Second)
	c.Restart()
	c.Advance(200 * time.Second)
	require.Equal(t, []string{"385.000"}, times(says(c, `"evict"`)), "due at 345, but watched for a grace only after 380")
}
