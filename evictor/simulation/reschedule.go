package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// replacePods makes pods come back from now on.
func (c *cluster) replacePods() {
	c.replaces, c.waiting = true, waiting{refused: make(map[alike]*queue)}
	c.indexLoad()
}

// indexLoad builds the index of where pods may go, if it does not exist.
func (c *cluster) indexLoad() {
	if c.load != nil {
		return
	}
	c.load = newLoadIndex()
	for i := range c.nodes {
		c.load.add(c, int32(i))
	}
}

// oweDeleted makes the pods that were deleted before time 0 wait to come back, if their controllers wait until they are gone.
// Their workloads want them all the same.
func (c *cluster) oweDeleted() {
	for i := range c.pods {
		if p := &c.pods[i]; p.node >= 0 && p.terminating && c.returnsOf(p) == whenGone {
			p.owed = true
			c.book(int32(i)) //nolint:gosec // far fewer
			c.leveled(p.member, 1, 0)
		}
	}
}

// returns is the moment when a pod's controller replaces it.
type returns int

const (
	notAtAll returns = iota
	whenDeleted
	whenGone
)

// returns derives the moment from the kind of owner. A bare pod does not come back. Pods of DaemonSets and mirror pods
// belong to their nodes. A StatefulSet reuses the pod's name, so the old pod must be gone first.
func (s *podSpec) returns() returns {
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

// deletionBegins makes a pod wait to come back, if its controller does not wait until it is gone.
func (c *cluster) deletionBegins(i int32) {
	p := &c.pods[i]
	c.endsForGood(p)
	if !c.replaces || p.terminating {
		return
	}
	if c.unwanted(p.spec, p.id) && c.counts(p) {
		c.leveled(p.member, -1, 0) // nobody misses it
	}
	when := c.returnsOf(p)
	if when == whenDeleted && (p.phase.finished() || c.fails(i)) { // a finished pod is replaced already, or done
		return
	}
	switch {
	case when == whenDeleted && c.detached(p) == 0:
		c.replace(i)
	case when != notAtAll: // no other node can have its volume before it is gone, or nobody its name
		p.owed = true
	}
}

// isGone makes a pod wait to come back when its object is about to be removed, if its controller waits for that.
func (c *cluster) isGone(i int32) {
	p := &c.pods[i]
	when := c.returnsOf(p)
	if !c.replaces || !p.owed && when != whenGone {
		return
	}
	if when != notAtAll && !(when == whenGone && c.fails(i)) { // else its Job has ended
		c.replace(i)
	}
}

// misses counts pods that wait to be on a node, or no longer do.
func (c *cluster) misses(s *podSpec, by int) {
	if !s.ofDaemonSet() {
		c.stats.lacks(c.now(), whole*by)
	}
}

// replace lets a pod come back.
func (c *cluster) replace(i int32) {
	c.misses(c.pods[i].spec, 1)
	p := &c.pods[i]
	id := p.id
	b := comeback{
		at: c.now(), wait: int64(c.detached(p)), key: evictor.PodKey{Namespace: c.spaces[id.space], Name: id.name}, spec: p.spec, member: p.member,
	}
	if j := c.jobOf(p.spec, id.space); j != nil && !j.PerIndex {
		c.holdBack(j, b)
		return
	}
	c.awaits(b)
}

// nextComeback returns the time of the next attempt to schedule a waiting pod; never if none waits. Pods that found no node are tried
// again as soon as something has changed.
func (p *player) nextComeback() time.Duration {
	c := p.cluster
	switch {
	case !c.replaces || p.stalled():
		return never
	case len(c.ending) > 0 || len(c.sequences.look) > 0 || p.tryAgain():
		return c.Clock.Elapsed()
	}
	_, next := c.heldBack()
	next = max(next, c.Clock.Elapsed())
	if len(c.waiting.coming) > 0 {
		next = min(next, p.due(&c.waiting.coming[0]))
	}
	return next
}

// due returns the earliest time at which a pod can come back.
func (p *player) due(b *comeback) time.Duration {
	if due := time.Duration(b.at+b.wait) + p.scenario.ReplaceAfter; due >= 0 {
		return due
	}
	return never
}

// standStill makes up for an outage of the API: what pods wait for did not go on while nobody could work on it.
func (c *cluster) standStill(since int64) {
	now, waiting := c.now(), c.waiting.coming
	for i := range waiting {
		waiting[i].wait += now - max(waiting[i].at, since)
	}
	slices.SortStableFunc(waiting, func(a, b comeback) int { return cmp.Compare(a.at+a.wait, b.at+b.wait) })
	for _, q := range c.sequences.sets {
		for i := range q.held {
			q.held[i].wait += now - max(q.held[i].at, since)
		}
	}
}

// tryAgain reports whether pods that found no node are tried again now.
func (p *player) tryAgain() bool {
	c := p.cluster
	return c.waiting.count > 0 && (len(c.load.improved) > 0 || c.waiting.minding > 0 && c.waiting.version != c.load.version)
}

// comeBack schedules the pods that are due, and retries those that found no node if tryAgain allows it. It tries pods in
// the order in which they could be replaced. If a pod finds no node, pods that are alike are not tried in this round.
func (p *player) comeBack(at time.Duration) {
	c := p.cluster
	if !c.replaces || p.stalled() {
		return
	}
	c.endJobs()
	c.createHeld()
	p.create()
	retry := p.tryAgain()
	if !retry && (len(c.waiting.coming) == 0 || p.due(&c.waiting.coming[0]) > at) {
		return
	}
	w, version := &c.waiting, c.load.version
	c.recount()
	full := make(map[alike]bool) // pods that found no node in this round
	if retry || w.count == 0 {
		p.again(c.load.takeImproved(), full)
	}
	for len(w.coming) > 0 && p.due(&w.coming[0]) <= at {
		b := w.coming[0]
		w.coming = w.coming[1:]
		a, minds := c.alike(&b)
		if w.refused[a] != nil {
			full[a] = true // nothing has changed for these pods, or they were just tried
		}
		if !full[a] {
			if target, ok := c.load.best(c, b.spec, b.key.Namespace); ok {
				p.place(b, target)
				continue
			}
			full[a] = true
		}
		p.tellPending(at, w.refuse(a, minds, c.stateOf(b.spec), b), &b)
	}
	if retry {
		w.version = version
	}
	c.stats.mostPending = max(c.stats.mostPending, w.count)
}

// tellPending tells that a pod found no node, and why. Finding the reason takes a look at every node, so it is reused for
// one second for all pods that are alike.
func (p *player) tellPending(at time.Duration, q *queue, b *comeback) {
	s := p.scenario
	if s.Timeline == nil && s.Refused == nil {
		return
	}
	if q.refusal == nil || at-q.refusal.At >= time.Second {
		q.refusal = p.cluster.refusedBy(at, b)
		q.why = because(q.refusal.Why.String())
	}
	if s.Refused != nil {
		r := *q.refusal
		r.At, r.Pod = at, b.key
		s.Refused(r)
	}
	p.line(timeline.Line{T: at, Kind: timeline.KindPending, Pod: joinPodName(b.key.Namespace, b.key.Name), More: q.why})
}

// again retries pods that found no node before.
func (p *player) again(improved []int32, full map[alike]bool) {
	c := p.cluster
	all := c.waiting.queues()
	for len(all) > 0 {
		q := all[0]
		var target int32
		var ok bool
		if b := &q.pods[0]; c.moved(q) {
			target, ok = c.load.best(c, b.spec, b.key.Namespace)
		} else {
			target, ok = c.load.bestImproved(c, improved, b.spec, b.key.Namespace)
		}
		if !ok {
			full[q.alike], q.state = true, c.stateOf(q.pods[0].spec)
			all = all[1:]
			continue
		}
		b := q.pods[0]
		all = c.waiting.served(all)
		p.place(b, target)
	}
}

// place binds a pod to a node. A pod of a StatefulSet keeps its name; any other replacement gets a new one.
func (p *player) place(b comeback, target int32) {
	c := p.cluster
	own := b.fresh || b.spec.returns() == whenGone
	key := b.key
	for taken := !own; taken; {
		key.Name = successor(key.Name)
		_, taken = c.findPod(key)
	}
	n := &c.nodes[target]
	c.misses(b.spec, -1)
	fresh := c.newPod(b.spec, b.member, n)
	begins := c.readyAfter > 0 && !fresh.unstarted
	if begins {
		fresh.ready, fresh.unstarted = false, true
	}
	if err := c.addPod(c.id(key), fresh, n.name); err != nil {
		return // another pod has its name
	}
	if begins {
		c.begins(c.podByID[c.id(key)])
	}
	l := timeline.Line{T: c.Clock.Elapsed(), Kind: timeline.KindSchedule, Node: n.name, Pod: joinPodName(key.Namespace, key.Name)}
	if b.fresh {
		p.line(l)
		return
	}
	c.stats.returned++
	if c.happened != nil {
		c.happened(Happening{At: c.Clock.Elapsed(), Node: n.name, Pod: key, Was: b.key, Text: fmt.Sprintf("pod %s replaces %s, which was deleted at %s", key, b.key, time.Duration(b.at))})
	}
	l.More = timeline.Fields{"was": joinPodName(b.key.Namespace, b.key.Name)}.String()
	p.line(l)
}
