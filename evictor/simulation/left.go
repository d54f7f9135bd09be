package simulation

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/taints"
)

// Reasons why pods are still on silent nodes at the end of a simulation.
const (
	leftForever     = "tolerate the taint forever"
	leftPending     = "still within their tolerationSeconds"
	leftTimeout     = "still within podEvictionTimeout"
	leftBudget      = "due, but their disruption budget refuses their eviction"
	leftGroup       = "due, but another pod of their group may not leave"
	leftDue         = "due, but not evicted yet"
	leftUnnoticed   = "on nodes that are not Unknown yet"
	leftStopped     = "on nodes in zones in which evictions are stopped"
	leftTurn        = "on nodes whose turn has not come"
	leftHeld        = "on nodes that are held"
	leftRefused     = "on nodes whose turn is refused"
	leftTerminating = "deleted, waiting for their kubelet"
	leftDeleted     = "on deleted nodes, until the garbage collector comes"
	leftCompleted   = "completed or mirror pods, never evicted"
)

// Leaving returns the reasons in Report.Left of pods that have to leave, those that need somebody first.
func Leaving() []string {
	return []string{leftTurn, leftStopped, leftHeld, leftRefused, leftBudget, leftGroup, leftDue, leftPending, leftTimeout, leftUnnoticed}
}

// left counts the pods on silent nodes, by reason, but those of DaemonSets, and the pods that have to leave. It adds the times of
// those that are late to the delays.
func (p *player) left() (left map[string]int, leaving int) {
	left, c := make(map[string]int), p.cluster
	var staying map[labelled]bool
	if len(p.scenario.Together) > 0 {
		staying = p.stayingGroups()
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		for k := n.firstPod; k >= 0 && n.failed; k = c.pods[k].next {
			if c.pods[k].spec.ofDaemonSet() {
				continue
			}
			why := p.stays(n, k, staying)
			left[why]++
			switch why {
			case leftForever, leftTerminating, leftDeleted, leftCompleted:
				continue
			case leftTurn, leftStopped, leftHeld, leftRefused:
				c.stats.delays = append(c.stats.delays, time.Duration(c.now()-n.failedAt)+p.toTolerate(&c.pods[k]))
			case leftBudget, leftGroup, leftDue:
				c.stats.delays = append(c.stats.delays, time.Duration(c.now()-n.failedAt))
			}
			leaving++
		}
	}
	return left, leaving
}

// toTolerate is how long a pod will stay on a silent node after its taint.
func (p *player) toTolerate(pod *pod) time.Duration {
	if !p.scenario.Config.Nodes.TaintBasedEviction {
		return 0
	}
	return taints.Tolerate(unreachable, pod.spec.Tolerations, false).For
}

// stays is why a pod is still on its silent node.
func (p *player) stays(n *node, i int32, groups map[labelled]bool) string {
	c, pod := p.cluster, &p.cluster.pods[i]
	switch {
	case n.Deleted:
		return leftDeleted
	case pod.terminating:
		return leftTerminating
	case pod.phase.finished() || pod.spec.Mirror:
		return leftCompleted
	case !p.scenario.Config.Nodes.TaintBasedEviction:
		return p.staysUntainted(n, pod)
	}
	if begun := n.begun(); len(begun) > 0 {
		deadline := taints.DeadlineOf(begun, Epoch.Add(time.Duration(pod.bound)), pod.spec.Tolerations, nil, false)
		switch {
		case deadline.Forever && tainted(n):
			return leftForever
		case deadline.Forever: // it tolerates what others have set
		case deadline.At.After(c.Clock.Now()):
			return leftPending
		case p.scenario.AskBudgets && c.refusal(i) != nil:
			return leftBudget
		case groups[p.groupOf(pod)]:
			return leftGroup
		default:
			return leftDue
		}
	}
	if toleratesForever(pod.spec) {
		return leftForever
	}
	return c.awaitsTurn(n)
}

// staysUntainted is stays without taints: pods stay until the turn of their node.
func (p *player) staysUntainted(n *node, pod *pod) string {
	switch {
	case p.cluster.waitsForBudget(pod):
		return leftBudget
	case n.IsReady():
		return leftUnnoticed
	case p.cluster.now()-n.renewed <= int64(p.scenario.Config.Nodes.PodEvictionTimeout):
		return leftTimeout
	}
	return p.cluster.awaitsTurn(n)
}

// awaitsTurn is why nothing has been done yet about a silent node.
func (c *cluster) awaitsTurn(n *node) string {
	limit, by := &c.zoneOf(n).current, c.hindrances[c.nodeByID[n.Name]]
	known := limit.Ready+limit.NotReady > 0 // upstream does not report counts and rate of zones
	switch {
	case n.IsReady():
		return leftUnnoticed
	case by.held != "":
		return leftHeld
	case limit.State == timeline.AllZonesDisrupted || known && limit.Rate == 0:
		return leftStopped
	case by.refused != "":
		return leftRefused
	}
	return leftTurn
}

// begun returns the node's NoExecute taints, and since when it has had them: without a time of its own, from time 0 on. A taint of the
// evictor's that replaces the other keeps its time, and has begun with the node's present state.
func (n *node) begun() (begun []taints.Begun) {
	for i := range n.Taints {
		t := &n.Taints[i]
		if t.Effect != v1.TaintEffectNoExecute {
			continue
		}
		start := Epoch
		if t.TimeAdded != nil {
			start = t.TimeAdded.Time
		}
		since := taints.Begun{Taint: *t, Start: start}
		if ready := placement.FindCondition(n.Conditions, v1.NodeReady); ready >= 0 && taints.OwnNoExecute(t) && n.Conditions[ready].LastTransitionTime.After(start) {
			since.Start, since.Outage = n.Conditions[ready].LastTransitionTime.Time, start
		}
		begun = append(begun, since)
	}
	return begun
}

var unreachable = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}

func toleratesForever(s *podSpec) bool {
	return taints.Tolerate(unreachable, s.Tolerations, false).Forever
}
