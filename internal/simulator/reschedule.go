package simulator

import (
	"container/heap"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// indexLoad begins to keep what rescheduling needs.
func (c *Cluster) indexLoad(edition int) {
	c.load, c.waiting = newLoadIndex(edition), waiting{refused: make(map[alike]*queue)}
	for i := range c.nodes {
		c.load.add(c, int32(i))
	}
	if edition == scenario.Edition1 {
		return
	}
	for i := range c.pods { // deleted before time 0
		if p := &c.pods[i]; p.node >= 0 && p.terminating && p.spec.returns() == whenGone && c.nodes[p.node].failed {
			p.owed = true
			c.stats.stranded(c.now(), 1)
		}
	}
}

// returns is when a pod's controller replaces it.
type returns int

const (
	notAtAll returns = iota
	whenDeleted
	whenGone
)

// returns is by the kind of owner: a bare pod stays away, one of a DaemonSet belongs to its node, as a mirror pod does,
// and one of a StatefulSet has a name that only one object can have.
func (s *PodSpec) returns() returns {
	switch {
	case s.Mirror:
		return notAtAll
	case s.OwnerKind == "" || s.OwnerKind == "DaemonSet" || s.OwnerKind == "Node":
		return notAtAll
	case s.OwnerKind == "StatefulSet":
		return whenGone
	default:
		return whenDeleted
	}
}

// evicted lets a pod that a controller owns wait for its return at once, whatever its controller: so it is in edition 1.
func (c *Cluster) evicted(i int32) {
	p := &c.pods[i]
	if c.load == nil || c.load.edition != scenario.Edition1 || p.spec.OwnerKind == "" || p.spec.OwnerKind == "DaemonSet" {
		return
	}
	c.stats.stranded(c.now(), 1)
	c.replace(i)
}

// deletionBegins lets a pod wait for its return whose controller does not wait until it is gone.
func (c *Cluster) deletionBegins(i int32) {
	p := &c.pods[i]
	if c.load == nil || c.load.edition == scenario.Edition1 || p.terminating {
		return
	}
	switch p.spec.returns() {
	case whenDeleted:
		if !p.phase.finished() { // such a one is replaced already, or done
			c.stats.stranded(c.now(), 1)
			c.replace(i)
		}
	case whenGone:
		p.owed = true
		c.stats.stranded(c.now(), 1)
	}
}

// isGone lets a pod wait for its return whose object is about to go.
func (c *Cluster) isGone(i int32) {
	p := &c.pods[i]
	if c.load == nil || c.load.edition == scenario.Edition1 || p.spec.returns() != whenGone {
		return
	}
	if !p.owed {
		c.stats.stranded(c.now(), 1)
	}
	c.replace(i)
}

func (c *Cluster) replace(i int32) {
	p, id := &c.pods[i], c.podIndex.Key(i)
	c.waiting.add(comeback{at: c.now(), key: evictor.PodKey{Namespace: c.spaces[id.space], Name: id.name}, spec: p.spec})
}

// nextComeback is when a waiting pod is to be scheduled first. Those that found no node are tried again with each pass in
// edition 1, and at once when something changed since.
func (p *player) nextComeback() (time.Duration, bool) {
	c := p.cluster
	if c.load == nil {
		return 0, false
	}
	if p.settings.Edition != scenario.Edition1 && p.tryAgain(0) {
		return c.Clock.Elapsed(), true
	}
	if len(c.waiting.coming) == 0 {
		return 0, false
	}
	return p.due(&c.waiting.coming[0]), true
}

// due is when a pod comes back, at the earliest.
func (p *player) due(b *comeback) time.Duration {
	if due := time.Duration(b.at) + p.settings.RescheduleAfter; due >= 0 {
		return due
	}
	return never
}

// tryAgain says whether those that found no node are tried again at that instant.
func (p *player) tryAgain(at time.Duration) bool {
	c := p.cluster
	switch {
	case c.waiting.count == 0:
		return false
	case p.settings.Edition == scenario.Edition1:
		return p.passDue(at)
	default:
		return len(c.load.improved) > 0 || c.waiting.minding > 0 && c.waiting.version != c.load.version
	}
}

// comeBack schedules the pods whose time has come, and those that found no node before if they are to be tried again. All
// are taken in the order in which they could be replaced; when one finds no node, those alike are not tried any more.
func (p *player) comeBack(at time.Duration) {
	c := p.cluster
	if c.load == nil {
		return
	}
	retry := p.tryAgain(at)
	if !retry && (len(c.waiting.coming) == 0 || p.due(&c.waiting.coming[0]) > at) {
		return
	}
	w, version := &c.waiting, c.load.version
	c.recount()
	full := make(map[alike]bool) // that found no node in this round
	if retry || w.count == 0 {
		p.again(c.load.takeImproved(), full)
	}
	for len(w.coming) > 0 && p.due(&w.coming[0]) <= at {
		b := w.coming[0]
		w.coming = w.coming[1:]
		a, minds := c.alike(&b)
		if p.settings.Edition != scenario.Edition1 && w.refused[a] != nil {
			full[a] = true // nothing has changed for them, or they have just been tried
		}
		if !full[a] {
			if target, ok := c.load.best(c, b.spec, b.key.Namespace); ok {
				p.place(b, target)
				continue
			}
			full[a] = true
		}
		w.refuse(a, minds, b)
	}
	if retry {
		w.version = version
	}
}

// again tries those that found no node before.
func (p *player) again(improved []int32, full map[alike]bool) {
	c := p.cluster
	all := c.waiting.queues()
	for len(all) > 0 {
		q := all[0]
		var target int32
		var ok bool
		if b := &q.pods[0]; q.minds || p.settings.Edition == scenario.Edition1 {
			target, ok = c.load.best(c, b.spec, b.key.Namespace)
		} else {
			target, ok = c.load.bestImproved(c, improved, b.spec, b.key.Namespace)
		}
		if !ok {
			full[q.alike] = true
			heap.Pop(&all)
			continue
		}
		b := q.pods[0]
		c.waiting.served(&all)
		p.place(b, target)
	}
}

// passDue says whether a monitor pass falls on this instant.
func (p *player) passDue(at time.Duration) bool {
	if period := p.settings.NodeMonitorPeriod; period > 0 {
		return (at-p.origin)%period == 0
	}
	return true
}

// place binds a pod: one of a StatefulSet under its own name, any other under a new one.
func (p *player) place(b comeback, target int32) {
	c := p.cluster
	own := c.load.edition != scenario.Edition1 && b.spec.returns() == whenGone
	key := b.key
	for taken := !own; taken; {
		key.Name = successor(key.Name)
		_, taken = c.findPod(key)
	}
	n := &c.nodes[target]
	ready := c.load.edition == scenario.Edition1 || !n.failed
	c.stats.stranded(c.now(), -1)
	if err := c.addPod(c.id(key), pod{spec: b.spec, ready: ready, bound: c.now()}, n.name); err != nil {
		return // somebody else made one of its name
	}
	c.stats.returned++
	p.line(scenario.Line{T: c.Clock.Elapsed(), Kind: scenario.KindSchedule, Node: c.nodes[target].name, Pod: scenario.JoinPodName(key.Namespace, key.Name)})
}
