package guard

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// observeNode hears verdicts, how turns end, and which nodes are gone.
func (g *Guard) observeNode(d nodelifecycle.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case d.Kind == nodelifecycle.Passed:
		g.passed(d)
	case d.Kind != nodelifecycle.GateChanged || d.Reason != "writes":
	case d.Err == nil:
		g.writes = g.clock.Now()
	default:
		g.writes = time.Time{}
	}
	n := g.nodes[d.Node]
	if n == nil || d.NodeUID != "" && d.NodeUID != n.uid {
		return
	}
	switch d.Kind {
	case nodelifecycle.NodeRegistered: // after what is told of earlier passes
		g.fresh = append(g.fresh, n)
	case nodelifecycle.NodeVerdict:
		n.judged, n.is.Ready = true, d.To == v1.ConditionTrue
		n.begun, n.anew = n.begun && (g.taints || !n.is.Ready), n.anew && !n.is.Ready
		g.budget.Set(n.name, n.is)
	case nodelifecycle.NodeRemoved:
		g.forget(n)
		return
	case nodelifecycle.PodEvicted:
		g.acted(n) // without taints, that begins the act
		g.podLeft(n)
	case nodelifecycle.WriteFailed:
		if d.Reason == "eviction" && environment.OutcomeOf(d.Err) == environment.Unknown {
			g.podLeft(n)
		}
	case nodelifecycle.TurnEnded, nodelifecycle.TurnRefused:
		g.turnEnded(n, d)
	}
	g.settle(n)
}

// observePod hears when the first pod of a node has left.
func (g *Guard) observePod(d tainteviction.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hears = true
	n := g.nodes[d.Pod.Node]
	left := d.Kind == tainteviction.PodEvicted && taints.OwnNoExecute(d.Taint)
	mayHave := d.Kind == tainteviction.WriteFailed && environment.OutcomeOf(d.Err) == environment.Unknown
	if n != nil && (left || mayHave) {
		g.podLeft(n)
	}
}

// passed is told of each pass. The nodes that were there have a verdict by now. The first pass ends the start: who is only
// in the budget is gone.
func (g *Guard) passed(d nodelifecycle.Decision) {
	fresh, now := g.fresh, g.clock.Now()
	if g.fresh = nil; !g.writes.IsZero() && d.Absent > 0 { // another process may have acted meanwhile
		g.writes = now
	}
	if !g.started {
		g.started, g.writes = true, now
		for _, name := range g.budget.Keys() {
			if g.nodes[name] == nil {
				g.budget.Remove(name)
			}
		}
		g.budget.Begin()
	}
	for _, n := range fresh {
		if n.judged = true; g.nodes[n.name] == n {
			g.settle(n)
		}
	}
}

// acted counts an act. Without taints, that of a node which is Ready again meanwhile is over at once.
func (g *Guard) acted(n *node) {
	n.begun = true
	g.settle(n)
	n.begun = g.taints || !n.is.Ready
}

// podLeft notes that a pod left, or may have, because the node is acted on.
func (g *Guard) podLeft(n *node) {
	if n.left.IsZero() && (n.state >= reserved || n.begun) {
		n.left = g.clock.Now()
	}
}

// turnEnded gives a reservation back unless the turn was used. What is reported late, of an earlier turn, is no news.
func (g *Guard) turnEnded(n *node, d nodelifecycle.Decision) {
	switch {
	case d.Reason == "Undone":
		n.begun = false
	case n.state != reserved:
	case d.Reason == "Served", d.Reason == "Dropped" && n.anew && !g.taints && !n.is.Ready:
		g.acted(n) // though no object may show it yet
	case !d.Time.Before(n.asked):
		g.budget.End(n.name)
		n.state, n.left = idle, time.Time{}
	}
}
