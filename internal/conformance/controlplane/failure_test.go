package controlplane

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// uids returns the UIDs of the nodes' pods.
func (c *cluster) uids(nodes ...string) map[string]types.UID {
	uids := map[string]types.UID{}
	c.view.Look(func(now *Now) {
		for _, node := range nodes {
			for _, name := range c.Pods(node) {
				uids[name] = now.Pod(name).UID
			}
		}
	})
	return uids
}

// without returns the pods that are not among the others.
func without(pods, others map[string]types.UID) map[string]types.UID {
	rest := map[string]types.UID{}
	for name, uid := range pods {
		if others[name] == "" {
			rest[name] = uid
		}
	}
	return rest
}

// remain says which of the pods have not begun to leave.
func remain(now *Now, pods map[string]types.UID) string {
	for name, uid := range pods {
		if _, gone := now.Evicted(uid); !gone {
			return fmt.Sprintf("pod %s stays", name)
		}
	}
	return ""
}

// leave says which of the pods have begun to leave.
func leave(now *Now, pods map[string]types.UID) string {
	for name, uid := range pods {
		if at, gone := now.Evicted(uid); gone {
			return fmt.Sprintf("pod %s was evicted at %s", name, at)
		}
	}
	return ""
}

// untainted says which of the nodes have no NoExecute taint.
func untainted(now *Now, nodes []string) string {
	for _, node := range nodes {
		if _, ok := now.Tainted(node); !ok {
			return fmt.Sprintf("node %s has no NoExecute taint", node)
		}
	}
	return ""
}

func (c *cluster) wait(t *testing.T, timeout time.Duration, holds func(*Now) (missing string)) {
	t.Helper()
	began := time.Now()
	require.NoError(t, c.view.Wait(c.ctx, timeout, holds))
	t.Logf("waited %s", time.Since(began).Round(time.Second/10))
}

func (c *cluster) hold(t *testing.T, d time.Duration, holds func(*Now) (wrong string)) {
	t.Helper()
	require.NoError(t, c.view.Hold(c.ctx, d, holds))
}

// What happens to single nodes and pods, side by side in one fleet.
func TestSingleNodes(t *testing.T) {
	c := start(t)
	c.run(t, "single-nodes")
	all := c.uids(c.Nodes()...)
	stopped := append(c.Zone(0)[:5:5], c.Zone(1)[:5]...)
	back, replaced, edited := c.Zone(0)[20], c.Zone(0)[30], c.Zone(1)[40:45]
	t.Run("SideBySide", func(t *testing.T) {
		t.Run("NodesStopAndTheirPodsLeaveWhenTolerationsEnd", func(t *testing.T) {
			t.Parallel()
			c.nodesStop(t, stopped)
		})
		t.Run("NodeThatComesBackInTimeKeepsItsPods", func(t *testing.T) {
			t.Parallel()
			c.nodeComesBack(t, back)
		})
		t.Run("PodThatTookTheNameOfAnotherLives", func(t *testing.T) {
			t.Parallel()
			c.podIsReplaced(t, replaced)
		})
		t.Run("ForeignControllerLosesNoWriteOfTaints", func(t *testing.T) {
			t.Parallel()
			c.foreignTaints(t, edited)
		})
	})
	others := without(all, c.podsOf(append(append(append([]string(nil), stopped...), replaced), edited...)))
	c.view.Look(func(now *Now) { require.Empty(t, leave(now, others), "nobody else leaves") })
}

// podsOf are the names of the nodes' pods, with any UID.
func (c *cluster) podsOf(nodes []string) map[string]types.UID {
	pods := map[string]types.UID{}
	for _, node := range nodes {
		for _, name := range c.Pods(node) {
			pods[name] = "any"
		}
	}
	return pods
}

func (c *cluster) nodesStop(t *testing.T, nodes []string) {
	pods := c.uids(nodes...)
	c.Stop(nodes...)
	c.wait(t, soon, func(now *Now) string { return remain(now, pods) })
	c.view.Look(func(now *Now) {
		for _, node := range nodes {
			tainted, ok := now.Tainted(node)
			require.True(t, ok)
			for _, pod := range c.Pods(node) {
				at, _ := now.Evicted(pods[pod])
				require.GreaterOrEqual(t, at.Sub(timeAdded(now.Node(node)).Time), fleetConfig.Toleration) // the time tainted may be late
				require.LessOrEqual(t, at.Sub(tainted), fleetConfig.Toleration+5*time.Second)
			}
		}
	})
}

func (c *cluster) nodeComesBack(t *testing.T, node string) {
	pods := c.uids(node)
	c.Stop(node)
	c.wait(t, soon, func(now *Now) string { return untainted(now, []string{node}) })
	c.hold(t, fleetConfig.Toleration-4*time.Second, func(now *Now) string { return leave(now, pods) })
	c.Start(node)
	c.wait(t, soon, func(now *Now) string {
		if ReadyOf(now.Node(node)) != v1.ConditionTrue {
			return fmt.Sprintf("node %s is not Ready", node)
		}
		tainted, _ := now.Tainted(node)
		require.Less(t, time.Since(tainted), fleetConfig.Toleration-time.Second, "this machine is too busy: the report took too long to be just in time")
		return ""
	})
	c.hold(t, fleetConfig.Toleration, func(now *Now) string { return leave(now, pods) })
	c.wait(t, soon, func(now *Now) string {
		if len(now.Node(node).Spec.Taints) > 0 {
			return fmt.Sprintf("node %s has taints: %v", node, now.Node(node).Spec.Taints)
		}
		return ""
	})
}

func (c *cluster) podIsReplaced(t *testing.T, node string) {
	pods := c.uids(node)
	name := c.Pods(node)[0]
	c.Stop(node)
	c.wait(t, soon, func(now *Now) string { return untainted(now, []string{node}) })
	client, at := c.client.CoreV1().Pods(metav1.NamespaceDefault), int64(0)
	require.NoError(t, client.Delete(c.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &at}))
	young := c.Pod(name, node)
	long := int64(3600)
	for i := range young.Spec.Tolerations {
		young.Spec.Tolerations[i].TolerationSeconds = &long
	}
	young, err := client.Create(c.ctx, young, metav1.CreateOptions{})
	require.NoError(t, err)
	alive := map[string]types.UID{name: young.UID}
	c.wait(t, soon, func(now *Now) string { return remain(now, pods) }) // with the others, whose turn would be the same
	c.hold(t, 5*time.Second, func(now *Now) string { return leave(now, alive) })
}

// A whole zone is lost: its nodes are tainted at the zone's rate, and their pods leave. A disruption budget delays one
// eviction.
func TestZoneIsLostAndABudgetHolds(t *testing.T) {
	c := start(t)
	c.run(t, "zone-lost", "--use-eviction-api")
	zone := c.Zone(4)
	pods := c.uids(zone...)
	held := c.Pods(zone[0])[0]
	heldPod := map[string]types.UID{held: pods[held]}
	budget := c.budget(t, held)
	c.Stop(zone...)
	c.wait(t, soon, func(now *Now) string { return untainted(now, zone) })
	c.wait(t, 2*soon, func(now *Now) string { return remain(now, without(pods, heldPod)) })
	c.hold(t, 3*time.Second, func(now *Now) string { return leave(now, heldPod) })
	budget(1)
	c.wait(t, soon, func(now *Now) string { return remain(now, heldPod) })
	c.view.Look(func(now *Now) {
		require.Empty(t, leave(now, without(c.uidsNow(now), pods)))
		var last, first time.Time
		for _, node := range zone {
			at := timeAdded(now.Node(node)).Time // this watch may lag by varying times
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
		}
		require.GreaterOrEqual(t, last.Sub(first), 8*time.Second, "a hundred nodes at ten a second, cut to seconds")
	})
}

// uidsNow returns the UIDs of all pods of the fleet.
func (c *cluster) uidsNow(now *Now) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, node := range c.Nodes() {
		for _, name := range c.Pods(node) {
			if pod := now.Pod(name); pod != nil {
				uids[name] = pod.UID
			}
		}
	}
	return uids
}

// All zones are lost, and nothing is evicted. Taints from before the last zone was down are lifted.
func TestAllZonesAreLostAndNothingIsEvicted(t *testing.T) {
	c := start(t)
	c.run(t, "all-zones-lost")
	pods := c.uids(c.Nodes()...)
	nothing := func(now *Now) string { return leave(now, pods) }
	c.Stop(c.Nodes()...)
	c.wait(t, 2*soon, func(now *Now) string {
		for _, node := range c.Nodes() {
			if ReadyOf(now.Node(node)) != v1.ConditionUnknown {
				return fmt.Sprintf("node %s is not Unknown", node)
			}
			if HasNoExecute(now.Node(node)) {
				return fmt.Sprintf("node %s has a NoExecute taint", node)
			}
		}
		return leave(now, pods)
	})
	c.hold(t, fleetConfig.Toleration+grace, func(now *Now) string {
		for _, node := range c.Nodes() {
			if HasNoExecute(now.Node(node)) {
				return fmt.Sprintf("node %s has a NoExecute taint", node)
			}
		}
		return nothing(now)
	})
	c.heal(t)
	c.view.Look(func(now *Now) { require.Empty(t, nothing(now)) })
}
