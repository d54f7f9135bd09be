package simulation

import (
	"cmp"
	"fmt"
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
	next     time.Duration // of the tries; never once every pod may go
	deadline time.Duration // never without a timeout, and once it has passed
	forced   bool          // it deletes, and asks no budgets
	rolls    bool          // it is part of a roll, which nobody stops by opening the node
	pods     []leaving     // those that it found, in the order of its tries
	gone     uint32        // how many pods had gone from the node when it last looked
	left     leftBy
	ended    drainEnd
}

// leaving is a pod that a drain evicts.
type leaving struct {
	key    evictor.PodKey
	serial uint64
	going  bool   // it is deleted: the drain waits at most until it is gone
	failed bool   // the API's answer was an error, so that kubectl does not try again
	why    string // it was not evicted
}

// leftBy is what the last try of a drain could not evict.
type leftBy struct {
	pods  int
	first evictor.PodKey
	why   string // of the first
	goes  bool   // one of them is deleted
}

// drainEnd says how a drain has ended.
type drainEnd int

const (
	drainGoesOn drainEnd = iota
	drainOver            // all pods are gone, or the node is, or it is open again
	drainGivenUp
)

// drain cordons a node and begins to evict its pods, unless it refuses to because of one of them. A node that is
// drained already gets the timeout of the new event.
func (p *player) drain(n *node, e *Planned) {
	c, now := p.cluster, p.cluster.Clock.Elapsed()
	if !n.Unschedulable {
		c.Cordon(n, true)
	}
	d := p.drainOf(n)
	refused := c.refusedByDrain(n, e.Drain)
	if d == nil {
		c.tellHappening(n.Name, "the node is drained")
		d = &drain{node: c.nodeByID[n.Name], from: now, next: now}
		p.report.Drains++
		if refused.pods == 0 {
			p.drains = append(p.drains, d)
		}
	}
	if refused.pods > 0 {
		p.stuck(&drain{by: *e, node: d.node, from: now, left: refused}, DrainRefused)
		return
	}
	d.by, d.deadline = *e, never
	if e.Drain.Timeout > 0 {
		d.deadline = shift(now, e.Drain.Timeout)
	}
	c.list(d)
}

// drainOf returns the drain of a node, nil if there is none.
func (p *player) drainOf(n *node) *drain {
	for _, d := range p.drains {
		if d.node == p.cluster.nodeByID[n.Name] {
			return d
		}
	}
	return nil
}

// canDrain says whether a drain has something to do on a node: it is open, or has pods that no drain evicts yet.
func (p *player) canDrain(n *node) bool {
	return !n.Unschedulable || p.drainOf(n) == nil && p.cluster.outside.drains[n.Name] == nil && slices.ContainsFunc(p.cluster.SortedPods(n.Name), func(key evictor.PodKey) bool {
		i, _ := p.cluster.findPod(key)
		return p.cluster.drainable(i) && !p.cluster.pods[i].terminating
	})
}

// drainable says whether a drain evicts a pod, or waits for it if it is deleted already: that is so for all but mirror
// pods and those of DaemonSets that run.
func (c *cluster) drainable(i int32) bool {
	s := c.pods[i].spec
	return !s.Mirror && (s.OwnerKind != "DaemonSet" || c.pods[i].phase.finished())
}

// nextDrain returns when a drain next has something to do.
func (p *player) nextDrain() time.Duration {
	next := never
	for _, d := range p.drains {
		next = min(next, d.next, d.deadline)
		if d.gone != p.cluster.nodes[d.node].gone {
			next = p.cluster.Clock.Elapsed()
		}
	}
	return next
}

// goOnDraining tries the pods whose turn it is, in the order in which the drains began. A drain is over once nothing is
// left to evict or to wait for, or its node is gone, or uncordoned unless a roll drains it, or it is given up.
func (p *player) goOnDraining(at time.Duration) {
	going := p.drains[:0]
	for _, d := range p.drains {
		if p.goOnWith(d, at); d.ended == drainGoesOn {
			going = append(going, d)
			continue
		}
		for i := range d.pods {
			p.cluster.notRefused(d.pods[i].key)
		}
	}
	clear(p.drains[len(going):])
	p.drains = going
}

func (p *player) goOnWith(d *drain, at time.Duration) {
	n := &p.cluster.nodes[d.node]
	switch {
	case n.Deleted || !n.Unschedulable && !d.rolls:
		d.ended = drainOver
		return
	case d.next > at && d.deadline > at && d.gone == n.gone:
		return
	case !n.Unschedulable:
		p.cluster.Cordon(n, true)
	}
	if d.next <= at {
		p.empty(d, at)
	}
	p.cluster.count(d)
	if d.left.pods > 0 && d.deadline <= at {
		p.timesOut(d, at)
	}
	switch {
	case d.ended != drainGoesOn:
	case d.left.pods == 0:
		d.ended = drainOver
	case d.next == never && !d.left.goes:
		d.ended = drainOver
		p.stuck(d, DrainFailed)
	}
}

// list notes the pods that a drain finds, in the order in which the API server lists them.
func (c *cluster) list(d *drain) {
	known := make(map[uint64]bool, len(d.pods))
	for i := range d.pods {
		known[d.pods[i].serial] = true
	}
	before := len(d.pods)
	for i := c.nodes[d.node].firstPod; i >= 0; i = c.pods[i].next {
		if p := &c.pods[i]; c.drainable(i) && !known[p.serial] {
			d.pods = append(d.pods, leaving{key: c.keyOf(p), serial: p.serial})
		}
	}
	slices.SortFunc(d.pods[before:], func(a, b leaving) int { return cmp.Compare(a.key.String(), b.key.String()) })
}

// find returns a pod of a drain, as long as it exists.
func (c *cluster) find(l *leaving) (pod int32, exists bool) {
	i, ok := c.findPod(l.key)
	return i, ok && c.pods[i].serial == l.serial
}

// empty evicts the pods of a node, or deletes them by force, and notes which it could not. Each of these is told of
// once. kubectl lists the pods once, and tries again what a budget refuses; who rolls nodes looks anew each time, and
// tries all again.
func (p *player) empty(d *drain, at time.Duration) {
	c, name := p.cluster, p.cluster.nodes[d.node].Name
	if d.rolls {
		c.list(d)
	}
	d.next = never
	for k := range d.pods {
		l := &d.pods[k]
		i, exists := c.find(l)
		l.going = l.going || !exists || c.pods[i].terminating
		if l.going || l.failed && !d.forced {
			continue
		}
		refusal := error(nil)
		switch {
		case p.apiDown:
			refusal = errAPIDown
		case !d.forced:
			refusal = c.ask(i)
		}
		if l.going = refusal == nil; l.going {
			p.drained(name, l.key, d.forced)
			c.deletePod(i)
			continue
		}
		if l.why == "" {
			c.tellKept(name, l.key, refusal)
		}
		l.why, l.failed = textOf(refusal), !p.apiDown && !d.rolls && !apierrors.IsTooManyRequests(refusal)
		if !l.failed {
			d.next = at + drainAgain
		}
	}
}

// count notes what is left of the pods of a drain: those that it could not evict, and, if it waits, those that are not
// gone.
func (c *cluster) count(d *drain) {
	d.left, d.gone = leftBy{}, c.nodes[d.node].gone
	for k := range d.pods {
		l := &d.pods[k]
		_, exists := c.find(l)
		waits := exists && d.by.Drain.waits() && !d.forced
		if l.going && !waits {
			continue
		}
		why := l.why
		if l.going {
			why, d.left.goes = "it is deleted, and its kubelet has not ended it", true
		}
		if d.left.pods++; d.left.pods == 1 {
			d.left.first, d.left.why = l.key, why
		}
	}
}

// refusedByDrain is what kubectl refuses to evict: then it evicts nothing.
func (c *cluster) refusedByDrain(n *node, by *Drain) (refused leftBy) {
	for _, key := range c.SortedPods(n.Name) {
		i, _ := c.findPod(key)
		if !c.drainable(i) || c.pods[i].phase.finished() {
			continue
		}
		why := ""
		switch s := c.pods[i].spec; {
		case s.emptyDir && by.EmptyDir != evictPods:
			why = "it has an emptyDir volume (emptyDir: refuse)"
		case s.OwnerKind == "" && by.Bare != evictPods:
			why = "it has no controller (bare: refuse)"
		default:
			continue
		}
		if refused.pods++; refused.pods == 1 {
			refused.first, refused.why = key, why
		}
	}
	return refused
}

// textOf returns what a refusal says about the budget.
func textOf(refusal error) string {
	if cause, ok := apierrors.StatusCause(refusal, disruptionBudgetCause); ok {
		return cause.Message
	}
	return refusal.Error()
}

// drained records a pod that leaves without the controller.
func (p *player) drained(node string, key evictor.PodKey, force bool) {
	l := timeline.Line{T: p.cluster.Clock.Elapsed(), Kind: timeline.KindDrain, Node: node, Pod: joinPodName(key.Namespace, key.Name)}
	if p.report.Drained++; force {
		p.report.DrainedByForce++
		l.More = because("the drain's timeout is over")
	}
	p.line(l)
}

// tellKept tells that a drain may not evict a pod.
func (c *cluster) tellKept(node string, pod evictor.PodKey, why error) {
	if c.happened == nil {
		return
	}
	c.happened(Happening{At: c.Clock.Elapsed(), Node: node, Kept: pod, Text: fmt.Sprintf("pod %s: the drain tries again every %s: %s", pod, drainAgain, textOf(why))})
}

// timesOut ends a drain whose timeout is over: it is given up, or deletes what is left.
func (p *player) timesOut(d *drain, at time.Duration) {
	d.deadline = never
	if d.by.Drain.Then != thenForce {
		d.ended = drainGivenUp
		p.stuck(d, DrainGivenUp)
		return
	}
	p.stuck(d, DrainForced)
	d.forced = true
	p.empty(d, at)
	p.cluster.count(d)
}
