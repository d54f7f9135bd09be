package simulation

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// drainAgain is the time between tries of pods that a budget protects, as in kubectl drain.
const drainAgain = 5 * time.Second

// drain is the drain of one node.
type drain struct {
	by       Planned // the event that asked for it
	node     int32
	from     time.Duration
	next     time.Duration           // of the tries
	deadline time.Duration           // never without a timeout, and once it has passed
	forced   bool                    // it deletes, and asks no budgets
	rolls    bool                    // it is part of a roll, which nobody stops by opening the node
	kept     map[evictor.PodKey]bool // the pods that could not be evicted
	left     leftBy
	ended    drainEnd
}

// leftBy is what the last try of a drain could not evict.
type leftBy struct {
	pods  int
	first evictor.PodKey
	why   string // of the first
}

// drainEnd says how a drain has ended.
type drainEnd int

const (
	drainGoesOn drainEnd = iota
	drainOver            // all pods are gone, or the node is, or it is open again
	drainGivenUp
)

// drain cordons a node and begins to evict its pods. A node that is drained already gets the timeout of the new event.
func (p *player) drain(n *node, e *Planned) {
	c, now := p.cluster, p.cluster.Clock.Elapsed()
	if !n.unschedulable {
		c.Cordon(n, true)
	}
	d := p.drainOf(n)
	if d == nil {
		c.tellHappening(n.name, "the node is drained")
		d = &drain{node: c.nodeByID[n.name], from: now, next: now, kept: make(map[evictor.PodKey]bool)}
		p.drains = append(p.drains, d)
		p.report.Drains++
	}
	d.by, d.deadline = *e, never
	if e.Drain.Timeout > 0 {
		d.deadline = shift(now, e.Drain.Timeout)
	}
}

// drainOf returns the drain of a node, nil if there is none.
func (p *player) drainOf(n *node) *drain {
	for _, d := range p.drains {
		if d.node == p.cluster.nodeByID[n.name] {
			return d
		}
	}
	return nil
}

// canDrain says whether a drain has something to do on a node: it is open, or has pods that no drain evicts yet.
func (p *player) canDrain(n *node) bool {
	return !n.unschedulable || p.drainOf(n) == nil && slices.ContainsFunc(p.cluster.SortedPods(n.name), func(key evictor.PodKey) bool {
		_, leaves := p.cluster.drainable(key)
		return leaves
	})
}

// drainable returns a pod if a drain evicts it: all do but those of DaemonSets, mirror pods and those deleted already.
func (c *cluster) drainable(key evictor.PodKey) (pod int32, leaves bool) {
	i, ok := c.findPod(key)
	return i, ok && !c.pods[i].terminating && c.pods[i].spec.OwnerKind != "DaemonSet" && !c.pods[i].spec.Mirror
}

// nextDrain returns when a drain next has something to do.
func (p *player) nextDrain() time.Duration {
	next := never
	for _, d := range p.drains {
		next = min(next, d.next, d.deadline)
	}
	return next
}

// goOnDraining tries the pods whose turn it is, in the order in which the drains began. A drain is over once nothing is
// left to evict, or its node is gone, or uncordoned unless a roll drains it, or it is given up.
func (p *player) goOnDraining(at time.Duration) {
	going := p.drains[:0]
	for _, d := range p.drains {
		if p.goOnWith(d, at); d.ended == drainGoesOn {
			going = append(going, d)
			continue
		}
		for key := range d.kept {
			p.cluster.notRefused(key)
		}
	}
	clear(p.drains[len(going):])
	p.drains = going
}

func (p *player) goOnWith(d *drain, at time.Duration) {
	n := &p.cluster.nodes[d.node]
	switch {
	case n.deleted || !n.unschedulable && !d.rolls:
		d.ended = drainOver
		return
	case d.next > at && d.deadline > at:
		return
	case !n.unschedulable:
		p.cluster.Cordon(n, true)
	}
	d.next = at + drainAgain
	p.empty(d)
	if d.left.pods > 0 && d.deadline <= at {
		p.timesOut(d)
	}
	if d.left.pods == 0 {
		d.ended = drainOver
	}
}

// empty evicts the pods of a node, or deletes them by force, and notes which it could not. Each of these is told of once.
func (p *player) empty(d *drain) {
	c, name := p.cluster, p.cluster.nodes[d.node].name
	d.left = leftBy{}
	for _, key := range c.SortedPods(name) {
		i, leaves := c.drainable(key)
		if !leaves {
			continue
		}
		refusal := error(nil)
		switch {
		case p.apiDown:
			refusal = errAPIDown
		case !d.forced:
			refusal = c.ask(i)
		}
		if refusal == nil {
			p.drained(name, key, d.forced)
			c.deletePod(i)
			continue
		}
		if d.left.pods++; d.left.pods == 1 {
			d.left.first, d.left.why = key, textOf(refusal)
		}
		if !d.kept[key] {
			d.kept[key] = true
			c.tellKept(name, key, refusal)
		}
	}
}

// textOf returns what a refusal says about the budget.
func textOf(refusal error) string {
	if cause, ok := apierrors.StatusCause(refusal, disruptionBudgetCause); ok {
		return cause.Message
	}
	return refusal.Error()
}

// drained and removed record pods that leave without the controller.
func (p *player) drained(node string, key evictor.PodKey, force bool) {
	l := timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindDrain, Node: node, Pod: joinPodName(key.Namespace, key.Name)}
	if p.report.Drained++; force {
		p.report.DrainedByForce++
		l.More = because("the drain's timeout is over")
	}
	p.line(l)
}

func (p *player) removed(node string, key evictor.PodKey) {
	p.report.Removed++
	p.line(timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindRemove, Node: node, Pod: joinPodName(key.Namespace, key.Name), More: because("the node is out of service")})
}
