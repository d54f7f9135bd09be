package guard

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/taints"
)

// node is what is remembered of one node. g.mu guards it.
type node struct {
	name   string
	uid    types.UID
	is     Member
	judged bool // it has a verdict, and its own report counts no more

	state   state
	asked   time.Time // when its last turn came
	anew    bool      // an earlier process had acted on it, so that this turn may find nothing left to do
	tainted bool      // its object has our taint
	since   time.Time // as its taint says
	begun   bool      // its turn was served, and its object need not show it yet; without taints: it is being emptied, or was

	began time.Time // when the act began: its turn came, or we saw it
	left  time.Time // when the first pod left because of it; zero if none has, as far as is known
}

// state is what the budget knows about an act on the node.
type state uint8

const (
	inherited state = iota // what an earlier process began counts, if anything
	idle
	reserved
	acting
)

// sees notes a node that the evictor reads. The evictor's lock is held.
func (g *Guard) sees(object *v1.Node, is Member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[object.Name]
	if n != nil && n.uid != object.UID {
		g.forget(n)
		n = nil
	}
	if n == nil {
		n = g.meet(object)
	}
	if is.Ready = n.is.Ready; !n.judged {
		is.Ready = slices.ContainsFunc(object.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue })
	}
	n.is = is
	n.shows(object)
	n.begun = n.begun && !(g.taints && n.tainted)
	g.budget.Set(n.name, is)
	g.settle(n)
}

// meet begins to remember a node. No earlier process has acted on one that comes while we watch, but perhaps on another of
// its name: that is over.
func (g *Guard) meet(object *v1.Node) *node {
	n := &node{name: object.Name, uid: object.UID}
	if g.started {
		g.budget.End(n.name)
		n.state = idle
	}
	g.nodes[n.name] = n
	return n
}

// shows notes whether the object has our taint, and since when.
func (n *node) shows(object *v1.Node) {
	n.tainted, n.since = false, time.Time{}
	for i := range object.Spec.Taints {
		if t := &object.Spec.Taints[i]; taints.OwnNoExecute(t) {
			n.tainted = true
			if t.TimeAdded != nil && (n.since.IsZero() || t.TimeAdded.Time.Before(n.since)) {
				n.since = t.TimeAdded.Time
			}
		}
	}
}

func (g *Guard) forget(n *node) {
	g.budget.Remove(n.name)
	delete(g.nodes, n.name)
}

// carries says whether the node is acted on.
func (g *Guard) carries(n *node) bool {
	return n.begun || g.taints && n.tainted
}

// settle tells the budget whether the node is acted on, and trials what came of it.
func (g *Guard) settle(n *node) {
	carries, well := g.carries(n), n.is.Ready && g.started
	if well && n.state != idle {
		g.budget.Judge(n.name, g.outcome(n))
	}
	switch {
	case carries && n.state != acting:
		g.begin(n)
	case carries:
	case n.state == acting, n.state == inherited && well:
		g.budget.End(n.name)
		g.budget.Judge(n.name, budget.Inconclusive) // if it was not judged yet, nobody can tell what came of it
		n.state, n.left = idle, time.Time{}
	}
}

// begin counts an act since its taint if that was there before us.
func (g *Guard) begin(n *node) {
	now := g.clock.Now()
	since := n.since
	if since.IsZero() || n.state == reserved || since.After(now) {
		since = now
	}
	n.began = now
	if n.state == reserved {
		n.began = n.asked // however late the store shows it
	}
	if g.budget.Adopt(n.name, since) { // false if another program acts on it
		n.state = acting
	}
}

// outcome is what became of an act on a node that is ready again.
func (g *Guard) outcome(n *node) budget.Outcome {
	now, left := g.clock.Now(), n.left
	switch {
	case !left.IsZero():
	case g.writes.IsZero():
		left = now // another process may have evicted its pods just now
	case !n.began.After(g.writes):
		left = g.writes
	case !g.hears:
		left = n.began
	}
	if n.state != reserved && now.Sub(left) <= g.alarm {
		return budget.Failed
	}
	return budget.Inconclusive
}
