package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// dated replaces all taints by one NoExecute taint, added that long after the start.
func (u *upstreams) dated(node, key string, added time.Duration) {
	u.change(node, func(n *v1.Node) {
		at := metav1.NewTime(evictortest.Epoch.Add(added))
		n.Spec.Taints = []v1.Taint{{Key: key, Effect: v1.TaintEffectNoExecute, TimeAdded: &at}}
	})
}

// tolerates makes the pod tolerate each of these for 300 seconds.
func tolerates(pod *v1.Pod, keys ...string) {
	pod.Spec.Tolerations = nil
	for _, key := range keys {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, evictortest.TolerateFor(key, 300))
	}
}

// left returns how long after the start the pod was evicted, checked every five seconds.
func (u *upstreams) left(until time.Duration) time.Duration {
	for u.clk.Now().Before(evictortest.Epoch.Add(until)) {
		u.pass(5 * time.Second)
		if len(u.evicted) > 0 {
			break
		}
	}
	return u.clk.Now().Sub(evictortest.Epoch)
}

// A taint that is removed and added again unseen, hidden by a relist or a broken watch, starts anew: no pod leaves
// before its node's object allows it.
func TestTaintThatCameBackUnseenCountsAnew(t *testing.T) {
	const unreachable, notReady = v1.TaintNodeUnreachable, v1.TaintNodeNotReady
	for name, row := range map[string]struct {
		before, after string
		added, want   time.Duration
	}{
		"somebody else's":                  {"maintenance", "maintenance", 200 * time.Second, 500 * time.Second},
		"ours":                             {unreachable, unreachable, 200 * time.Second, 500 * time.Second},
		"a swap that is another outage":    {notReady, unreachable, 200 * time.Second, 500 * time.Second},
		"back to another outage":           {unreachable, notReady, 200 * time.Second, 500 * time.Second},
		"a swap that is the same outage":   {notReady, unreachable, 0, 300 * time.Second},
		"by a clock that is ahead of ours": {unreachable, unreachable, 215 * time.Second, 505 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			ready := map[string]v1.ConditionStatus{"maintenance": v1.ConditionTrue, notReady: v1.ConditionFalse, unreachable: v1.ConditionUnknown}
			u := newUpstreams(t, config())
			u.node("node0", "", longAgo, ready[row.before])
			u.node("node1", "", longAgo, v1.ConditionTrue)
			u.reporting["node0"], u.reporting["node1"] = row.before != unreachable, true
			u.dated("node0", row.before, 0)
			tolerates(u.pod("pod0", "node0"), row.before, row.after)
			u.pass(205 * time.Second)
			require.Empty(t, u.evicted)
			u.change("node0", func(n *v1.Node) { n.Status.Conditions[0].Status = ready[row.after] })
			u.reporting["node0"] = row.after != unreachable
			u.dated("node0", row.after, row.added)
			require.Equal(t, row.want, u.left(700*time.Second))
		})
	}
}

// A time in the future means nothing, neither when it is seen nor beside the next one.
func TestTaintThatCameBackAfterOneFromTheFutureCountsAnew(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.reporting["node0"] = true
	u.dated("node0", "maintenance", 400*time.Second)
	tolerates(u.pod("pod0", "node0"), "maintenance")
	u.pass(205 * time.Second)
	u.dated("node0", "maintenance", 200*time.Second)
	require.Equal(t, 500*time.Second, u.left(700*time.Second))
}

// A follower whose watch was broken while the leader lifted a node's taints and added them again takes over.
func TestTakeOverAfterABrokenWatchCountsTheTaintThatIsThere(t *testing.T) {
	leads := false
	u := newUpstreams(t, config())
	var err error
	u.e, err = evictor.New(config(), evictor.Clients{Nodes: u, Pods: u, NodeWriter: u, PodWriter: u}, evictor.Options{Clock: u.clk, MayWrite: func() error {
		if !leads {
			return errors.New("another leads")
		}
		return nil
	}})
	require.NoError(t, err)
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.node("node1", "", longAgo, v1.ConditionTrue)
	u.reporting["node1"] = true
	tolerates(u.pod("pod0", "node0"), v1.TaintNodeUnreachable)
	u.pass(50 * time.Second)
	u.dated("node0", v1.TaintNodeUnreachable, 50*time.Second)
	u.pass(70 * time.Second)
	u.e.SetObserverHealth(errors.New("the watch is broken"))
	u.pass(180 * time.Second) // at 150 it reports and is lifted, at 290 it is tainted again
	u.dated("node0", v1.TaintNodeUnreachable, 290*time.Second)
	u.e.SetObserverHealth(nil)
	leads = true
	u.e.Kick()
	require.Equal(t, 590*time.Second, u.left(800*time.Second))
}

// A swap by us is one outage, even if the removed taint had no time to carry over.
func TestSwapOfATaintWithoutATimeIsOneOutage(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.node("node1", "", longAgo, v1.ConditionTrue)
	u.reporting["node0"], u.reporting["node1"] = true, true
	tolerates(u.pod("pod0", "node0"), v1.TaintNodeUnreachable, v1.TaintNodeNotReady)
	u.pass(20 * time.Second)
	u.says("node0", v1.ConditionFalse)
	u.pass(5 * time.Second) // tainted at 25
	u.change("node0", func(n *v1.Node) {
		for i := range n.Spec.Taints {
			n.Spec.Taints[i].TimeAdded = nil
		}
	})
	u.pass(25 * time.Second)
	u.reporting["node0"] = false
	u.pass(60 * time.Second)
	require.Contains(t, u.taints("node0"), "node.kubernetes.io/unreachable:NoExecute")
	for _, taint := range u.nodes["node0"].Spec.Taints {
		if taint.Effect == v1.TaintEffectNoExecute {
			require.Equal(t, evictortest.Epoch.Add(25*time.Second), taint.TimeAdded.UTC())
		}
	}
	require.Equal(t, 325*time.Second, u.left(700*time.Second))
}

func TestImplausibleTimeAddedMeansFirstSeen(t *testing.T) {
	for name, added := range map[string]time.Time{
		"in the future":   evictortest.Epoch.Add(time.Hour),
		"before the node": evictortest.Epoch.Add(-time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 2))
			c.AddPod("p", "a-0", evictortest.TolerateFor("k", 60))
			stamp := metav1.NewTime(added)
			c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute, TimeAdded: &stamp})
			c.Advance(20 * time.Second)
			c.Start(config())
			c.Advance(2 * time.Minute)
			require.Equal(t, []string{"80.000"}, times(says(c, `"evict"`)))
		})
	}
}
