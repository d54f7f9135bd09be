package guard

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// ObserveNode hears verdicts, how turns end, and which nodes are gone.
func (g *Guard) ObserveNode(d nodelifecycle.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch d.Kind {
	case nodelifecycle.Passed:
		g.passed()
		return
	case nodelifecycle.GateChanged:
		g.mayWrite(d)
		return
	}
	n := g.nodes[d.Node]
	if n == nil || d.NodeUID != "" && d.NodeUID != n.uid {
		return
	}
	switch d.Kind {
	case nodelifecycle.NodeVerdict:
		n.judged, n.is.Ready = true, d.To == v1.ConditionTrue
		n.begun = n.begun && !n.is.Ready
		g.budget.Set(n.name, n.is)
	case nodelifecycle.NodeRemoved:
		g.forget(n)
		return
	case nodelifecycle.PodEvicted:
		g.podLeft(n)
	case nodelifecycle.NodeEmptied:
		n.begun = n.state >= reserved
	case nodelifecycle.WriteFailed:
		g.failed(n, d)
	case nodelifecycle.TurnEnded, nodelifecycle.NodeDequeued, nodelifecycle.TurnRefused:
		g.turnEnded(n, d)
	}
	g.settle(n)
}

// ObservePod hears when the first pod of a node has left.
func (g *Guard) ObservePod(d tainteviction.Decision) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hears = true
	n := g.nodes[d.Pod.Node]
	if n == nil || !g.taints {
		return
	}
	switch {
	case d.Kind == tainteviction.PodEvicted && taints.OwnNoExecute(d.Taint), d.Kind == tainteviction.WriteFailed && unknown(d.Err):
		g.podLeft(n)
	}
}

// passed is told of each pass. The nodes that were there have a verdict by now. The first pass ends the start: who is only
// in the budget is gone.
func (g *Guard) passed() {
	fresh, now := g.fresh, g.clock.Now()
	if g.fresh = nil; !g.writes.IsZero() && now.Sub(g.pass) > g.gap { // it did not run, and another process may have acted
		g.writes = now
	}
	if g.pass = now; !g.started {
		g.started, g.writes = true, now
		for _, name := range g.budget.Keys() {
			if g.nodes[name] == nil {
				g.budget.Remove(name)
			}
		}
	}
	for _, n := range slices.Collect(maps.Keys(g.unseen)) {
		delete(g.unseen, n)
		g.giveBack(n)
	}
	for _, n := range fresh {
		if n.judged = true; g.nodes[n.name] == n {
			g.settle(n)
		}
	}
}

func (g *Guard) mayWrite(d nodelifecycle.Decision) {
	switch {
	case d.Reason != "writes":
	case d.Err == nil:
		g.writes = g.clock.Now()
	default:
		g.writes = time.Time{}
	}
}

// podLeft notes that a pod left because the node is acted on.
func (g *Guard) podLeft(n *node) {
	if n.state < reserved {
		return
	}
	n.begun = true
	if n.left.IsZero() {
		n.left = g.clock.Now()
	}
}

// failed notes that a turn's write may have been done although the answer is an error.
func (g *Guard) failed(n *node, d nodelifecycle.Decision) {
	if n.state != reserved || d.Reason == "conditions" || d.Reason == "labels" || !unknown(d.Err) {
		return
	}
	now := g.clock.Now()
	if n.sent = now.Add(g.grace); d.Reason == "eviction" && n.left.IsZero() {
		n.left = now
	}
}

// turnEnded gives a reservation back unless the turn was used. What is reported late, of an earlier turn, is no news.
func (g *Guard) turnEnded(n *node, d nodelifecycle.Decision) {
	switch {
	case d.Kind == nodelifecycle.TurnEnded && d.Reason == "Served":
		n.begun, n.sent = true, g.clock.Now().Add(g.grace)
		g.giveBack(n) // not before the store shows it
	case d.Time.Before(n.asked):
	default:
		g.giveBack(n)
	}
}

// unknown says whether the API server may have done what it was asked. These four errors say that it did nothing.
func unknown(err error) bool {
	return err != nil && !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err)
}
