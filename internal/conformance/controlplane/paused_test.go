package controlplane

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAPauseOpensNoDeadNodeToNewPods: nodes die while the brake on everything is pulled. The real scheduler binds every
// new pod to a living node. The dead ones have the most room, and only their taint keeps the pods away: a pod that
// tolerates unreachable:NoSchedule is bound to a dead node.
func TestAPauseOpensNoDeadNodeToNewPods(t *testing.T) {
	const user = "paused"
	c := open(t)
	var err error
	c.Fleet, err = StartFleet(c.ctx, c.client, c.view, FleetConfig{
		Zones: 1, NodesPerZone: 6, PodsPerNode: 1, Toleration: 2 * time.Second, Renewal: 3 * time.Second, Report: time.Minute,
	})
	require.NoError(t, err)
	dead, living := c.Nodes()[:2], c.Nodes()[2:]
	c.allocatable(t, `{"cpu":"64","memory":"128Gi","pods":"110"}`, dead...)
	c.allocatable(t, `{"cpu":"4","memory":"8Gi","pods":"110"}`, living...)
	c.pull(t, map[string]string{"all": "a test"})
	c.process(t, user, []string{ours, evictors}, c.controller,
		"--metrics-address=", "--debug-address=", "--brakes="+metav1.NamespaceSystem+"/"+brakesName)
	c.wait(t, soon, func(now *Now) string {
		for _, node := range c.Nodes() {
			if taints := now.Node(node).Spec.Taints; len(taints) > 0 {
				return fmt.Sprintf("node %s has the taint %s", node, taints[0].ToString())
			}
		}
		return ""
	})

	old, lost := c.uids(c.Nodes()...), c.uids(dead...)
	c.Stop(dead...)
	c.wait(t, soon, func(now *Now) string { return closed(now, dead) })

	const tolerant = "tolerant"
	names := []string{tolerant}
	for i := range 4 * len(c.Nodes()) {
		names = append(names, fmt.Sprint("new-", i))
	}
	for _, name := range names {
		pod := c.Pod(name, "")
		if name == tolerant {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
				Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule,
			})
		}
		_, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Create(c.ctx, pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	// It starts now, so that it has seen the taints.
	c.program(t, "scheduler", []string{administrators}, c.plane.Programs.Scheduler, "--leader-elect=false", "--secure-port=0")
	to := map[string]string{} // by pod
	c.wait(t, soon, func(now *Now) string {
		for _, name := range names {
			if pod := now.Pod(name); pod == nil || pod.Spec.NodeName == "" {
				return name + " is pending"
			}
			to[name] = now.Pod(name).Spec.NodeName
		}
		return ""
	})
	require.Contains(t, dead, to[tolerant], "without the taint, a dead node is what the scheduler prefers")
	delete(to, tolerant)
	for name, node := range to {
		require.Contains(t, living, node, name)
	}

	c.hold(t, c.Config.Toleration+5*period, func(now *Now) string { return closed(now, dead) + leave(now, old) })
	require.Empty(t, c.harm(t, user))

	c.pull(t, nil)
	c.wait(t, soon, func(now *Now) string { return untainted(now, dead) + remain(now, lost) })
	c.view.Look(func(now *Now) { require.Empty(t, leave(now, without(old, lost))) })
	require.NotEmpty(t, c.harm(t, user))
}

// closed says which of the nodes is not Unknown, or is not tainted unreachable:NoSchedule, or is tainted NoExecute.
func closed(now *Now, nodes []string) string {
	for _, name := range nodes {
		node := now.Node(name)
		if ReadyOf(node) != v1.ConditionUnknown {
			return name + " is not Unknown"
		}
		unreachable := false
		for _, taint := range node.Spec.Taints {
			if taint.Effect == v1.TaintEffectNoExecute {
				return fmt.Sprintf("%s has the taint %s", name, taint.ToString())
			}
			unreachable = unreachable || taint.Key == v1.TaintNodeUnreachable && taint.Effect == v1.TaintEffectNoSchedule
		}
		if !unreachable {
			return name + " is open to new pods"
		}
	}
	return ""
}

// harm returns the requests by which a user has tainted nodes NoExecute or removed pods, whatever their answers.
func (c *cluster) harm(t *testing.T, user string) (some []Request) {
	t.Helper()
	all, err := c.plane.Requests(user)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, r := range all {
		evicting := false
		if r.Verb == "patch" && r.Resource == "nodes" {
			evicting, _ = noExecuteIn(t, r.Body)
		}
		if evicting || r.Verb == "delete" || r.Resource == "pods/eviction" {
			some = append(some, r)
		}
	}
	return some
}
