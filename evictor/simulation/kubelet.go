package simulation

import (
	"math/bits"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// StartKubelets begins the rounds of all live kubelets: renewals every interval, spread evenly over it in the order in
// which the nodes were added or all at once, and reports every statusInterval. All have renewed and reported just now.
func (c *cluster) StartKubelets(interval, statusInterval time.Duration, even bool) {
	c.renewals.period, c.reports.period = int64(interval), int64(statusInterval)
	now, n := c.now(), int64(len(c.nodes))
	for i := range c.nodes {
		if c.nodes[i].failed || c.nodes[i].Deleted {
			continue
		}
		first := int64(interval)
		if even && i > 0 {
			high, low := bits.Mul64(uint64(i), uint64(interval))
			whole, _ := bits.Div64(high, low, uint64(n))
			first = int64(whole)
		}
		c.renewals.push(turn{now + first, int32(i), c.nodes[i].epoch})
		c.reports.push(turn{now + int64(statusInterval), int32(i), c.nodes[i].epoch})
	}
}

// beginRounds begins the rounds of one kubelet now, with a renewal and a report at once.
func (c *cluster) beginRounds(i int32) {
	n := &c.nodes[i]
	n.epoch++
	c.call(&c.kubelets.renewals, i, c.renew)
	c.call(&c.kubelets.reports, i, c.report)
	now := c.now()
	c.renewals.push(turn{now + c.renewals.period, i, n.epoch})
	c.reports.push(turn{now + c.reports.period, i, n.epoch})
}

// NextRenewal and NextReport return when a kubelet next has its turn, a slow call takes effect, or the watch shows a renewal late;
// never if that does not happen.
func (c *cluster) NextRenewal() time.Duration {
	return min(c.renewals.next(), c.kubelets.renewals.next(), c.nextHeld())
}

// NextReport is NextRenewal for status reports, comparisons, ends of starts, and what kubelets do with pods.
func (c *cluster) NextReport() time.Duration {
	return min(c.nextPodTimer(), c.reports.next(), c.kubelets.reports.next(), c.kubelets.comparisons.next(), c.startEnds.next())
}

// Renew lets the kubelet renew whose turn it is, or the watch show a renewal late. A kubelet that failed or is gone has no turns.
func (c *cluster) Renew() {
	if c.nextHeld() < min(c.renewals.next(), c.kubelets.renewals.next()) {
		c.show()
		return
	}
	c.turn(&c.renewals, &c.kubelets.renewals, c.renew)
}

// Report lets one kubelet be done with a pod, report, compare, or end its start.
func (c *cluster) Report() {
	reports, comparisons, starts := min(c.reports.next(), c.kubelets.reports.next()), c.kubelets.comparisons.next(), c.startEnds.next()
	switch {
	case c.nextPodTimer() <= min(reports, comparisons, starts):
		c.podDone()
	case reports <= min(comparisons, starts):
		c.turn(&c.reports, &c.kubelets.reports, c.report)
	case comparisons <= starts:
		c.compare()
	default:
		c.endStart()
	}
}

func (c *cluster) renew(n *node) {
	n.renewed = c.now()
	if n.missed = n.unseen || c.blind; n.missed {
		c.miss(n)
		c.world.missed(n.Name, c.Clock.Now())
		return
	}
	n.shown, n.seen, c.advanced = n.renewed, n.renewed, n.renewed
	c.world.renewed(n.Name, c.Clock.Now())
}

// report writes the node's conditions as the kubelet sees them, and with a Ready node the pods that the controller has marked not
// Ready. If only heartbeats change, the conditions stay shared.
func (c *cluster) report(n *node) {
	now := c.now()
	n.reported = now
	conditions := n.Conditions
	copied := false
	for i := range conditions {
		want := n.kubeletStatus(conditions[i].Type)
		if conditions[i].Status == want {
			continue
		}
		if !copied {
			conditions, copied = append([]v1.NodeCondition(nil), conditions...), true
		}
		conditions[i].Status, conditions[i].LastTransitionTime = want, stamp(now)
		conditions[i].Reason, conditions[i].Message = "KubeletReport", ""
	}
	for kind, status := range n.kubelet {
		if placement.FindCondition(conditions, kind) < 0 {
			conditions = append(slices.Clip(conditions), v1.NodeCondition{Type: kind, Status: status, Reason: "KubeletReport", LastTransitionTime: stamp(now)})
		}
	}
	n.Conditions = conditions
	if n.marked > 0 && n.kubeletStatus(v1.NodeReady) == v1.ConditionTrue {
		c.tellPods(n, false)
	}
	c.nodeChanged(n)
}

// Fail stops the node's kubelet and says whether it was alive.
func (c *cluster) Fail(n *node) bool { return c.silence(n, false, 0) }

// silence is Fail, or cuts the kubelet off from the API while it runs on; that many thousandths of the clients reach its pods.
func (c *cluster) silence(n *node, parted bool, reach int) bool {
	if n.failed && (parted || !n.parted) {
		return false
	}
	if !n.failed {
		n.failedAt, n.wasTainted = c.now(), tainted(n)
		c.stats.KubeletFailures++
		c.zoneOf(n).told.KubeletFailures++
	}
	n.failed, n.parted, n.reach = true, parted, uint16(reach)
	c.bookNode(c.nodeByID[n.Name])
	c.tellHappening(n.Name, map[bool]string{true: "the kubelet can no longer reach the API; its pods keep running", false: "the kubelet falls silent"}[parted])
	return true
}

// Recover brings the kubelet of a failed or partitioned node back, and says whether it had failed. Terminating pods
// end, the node reports Ready, and its pods are Ready again. A kubelet that has failed starts, a partitioned one ran on.
func (c *cluster) Recover(n *node) bool {
	if !n.failed {
		return false
	}
	i := c.nodeByID[n.Name]
	c.stats.recovered(n)
	c.isBack(i)
	c.overdue(n)
	ran := n.parted
	n.failed, n.parted, n.reach = false, false, 0
	c.bookNode(i)
	for p := n.firstPod; !ran && p >= 0; p = c.pods[p].next {
		if c.pods[p].unstarted { // its start begins again
			c.pods[p].until = 0
		}
	}
	if c.kubelets.down {
		c.tellHappening(n.Name, "the kubelet is back and waits for the API")
	} else {
		c.tellHappening(n.Name, "the kubelet is back and ends deleted pods")
		c.tellPods(n, true)
	}
	n.setKubelet(v1.NodeReady, v1.ConditionTrue)
	if ran {
		c.beginRounds(i)
	} else {
		c.startKubelet(i)
	}
	return true
}

// endDeleted ends the pods of live nodes that were deleted before time 0.
func (c *cluster) endDeleted() {
	for i := range c.pods {
		if p := &c.pods[i]; p.node >= 0 && p.terminating && !c.nodes[p.node].failed {
			c.removePod(int32(i)) //nolint:gosec // far fewer
		}
	}
}

// tellPods makes a kubelet that reaches the API end deleted pods, start those that it did not know, and report those Ready that the
// controller has marked, or, after it was silent, all.
func (c *cluster) tellPods(n *node, all bool) {
	for p := n.firstPod; p >= 0; {
		pod := &c.pods[p]
		next := pod.next
		switch {
		case pod.until > c.now(): // what takes time goes on
		case pod.terminating:
			c.removePod(p)
		case pod.phase.finished():
		case pod.unstarted:
			c.begins(p)
		case pod.marked || all && !pod.ready:
			c.setReady(p, true)
		}
		p = next
	}
}

// setReady sets a pod's Ready condition.
func (c *cluster) setReady(i int32, ready bool) {
	c.pods[i].ready, c.pods[i].marked = ready, false
	c.readiness(i)
	c.podChanged(i)
}

// writeCondition writes a condition that is not the kubelet's.
func (c *cluster) writeCondition(n *node, kind v1.NodeConditionType, status v1.ConditionStatus) {
	n.Conditions = append([]v1.NodeCondition(nil), n.Conditions...)
	written := v1.NodeCondition{Type: kind, Status: status, LastTransitionTime: stamp(c.now())}
	if i := placement.FindCondition(n.Conditions, kind); i >= 0 {
		n.Conditions[i] = written
	} else {
		n.Conditions = append(n.Conditions, written)
	}
	c.nodeChanged(n)
}

// starts makes the kubelet start such a pod.
func (c *cluster) starts(i int32) {
	p := &c.pods[i]
	p.unstarted, p.phase = false, running
	c.setReady(i, true)
}

// podDone ends what a kubelet does with a pod. One that has fallen silent meanwhile, or does not reach the API, does that later.
func (c *cluster) podDone() {
	t := c.podTimers[0]
	c.podTimers = c.podTimers[1:]
	p := &c.pods[t.pod]
	switch {
	case p.serial != t.serial || p.node < 0 || p.until != t.at || c.nodes[p.node].failed || c.kubelets.down:
	case p.terminating:
		c.removePod(t.pod)
	case p.unstarted:
		c.starts(t.pod)
	}
}

// begins has the kubelet start a pod.
func (c *cluster) begins(i int32) {
	if c.readyAfter > 0 {
		c.takesTime(i, c.readyAfter)
		return
	}
	c.starts(i)
}

// KubeletsReach sets how kubelets reach the API from now on: not at all, or with calls that take some time. Kubelets
// renew and report at their turns. A renewal that fails is skipped, and a report that fails is made when the kubelet
// next renews. A call that takes as long as the renewal interval times out.
func (c *cluster) KubeletsReach(down bool, latency time.Duration) {
	k := &c.kubelets
	was := k.down
	k.slow = int64(latency)
	k.down = down || c.renewals.period > 0 && k.slow >= c.renewals.period
	if !was || k.down {
		return
	}
	for _, t := range c.renewals.turns[c.renewals.head:] {
		if n := &c.nodes[t.node]; k.owed[t.node] && n.epoch == t.epoch && !n.failed {
			k.reports.push(turn{t.at + k.slow, t.node, t.epoch})
		}
	}
	k.owed = nil
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.Deleted && !n.failed {
			c.tellPods(n, false)
		}
	}
}
