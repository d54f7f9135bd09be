package pods

import (
	"time"

	"github.com/evictkit/evictkit/taints"
)

// group is a pod that is condemned and those that go with it. The first of these is evicted in a try of the condemned pod,
// and until that is done the group can be called off. From then on all of them leave, whatever becomes of the reason; the
// condemned pod goes last.
type group struct {
	last    *Eviction // of the condemned pod
	why     taints.Deadline
	members []Member     // without the first, until that is gone
	left    map[Key]bool // the members that are still there once it is gone
}

// Member is a pod that goes with another one, and its node.
type Member struct {
	Ref  Ref
	Node *Node
}

// GoesWith returns the condemned pod that the eviction's pod goes with, and false if it goes with none.
func (ev *Eviction) GoesWith() (condemned Ref, ok bool) {
	if ev.group == nil || ev.group.last == ev {
		return Ref{}, false
	}
	return ev.group.last.pod.ref, true
}

// First is the pod that is to be evicted before the condemned one, if any.
func (try *Try) First() (first Ref, some bool) { return try.first, try.first != Ref{} }

// leaves says whether the pod leaves with another one.
func (known *pod) leaves() bool {
	return known != nil && known.eviction != nil && known.eviction.group != nil
}

// company makes a group of the condemned pod and those that go with it, and begins the eviction of the first of them. Who
// leaves with another pod already is no member. It does nothing, and returns false, if that leaves none.
func (p *Pods) company(ev *Eviction, try *Try, permits Permits) (some bool) {
	g := &group{last: ev, why: try.Why}
	for _, m := range permits.With {
		if !p.known[m.Ref.Key].leaves() {
			g.members = append(g.members, m)
		}
	}
	switch {
	case len(g.members) == 0:
		return false
	case !p.Begin(g.members[0].Ref): // its own eviction is in flight
		try.Wait = permits.Soon
	default:
		try.Outcome, try.first = Proceed, g.members[0].Ref
		ev.group, g.members = g, g.members[1:]
	}
	return true
}

// FirstGone is called when the first of those that go with the pod is gone: now all leave.
func (p *Pods) FirstGone(ev *Eviction, now time.Time) {
	g := ev.group
	g.left, ev.aside = make(map[Key]bool), true
	delete(p.withheld, ev.pod.ref.Key)
	for _, m := range g.members {
		known := p.known[m.Ref.Key]
		switch {
		case known.leaves():
			continue
		case known == nil:
			known = p.know(m.Ref, m.Node, now)
		}
		if known.eviction == nil {
			known.eviction = &Eviction{pod: known}
		}
		one := known.eviction
		one.group, one.why, one.decided, one.delayed, one.aside = g, g.why, now, 0, true
		g.left[m.Ref.Key] = true
		delete(p.withheld, m.Ref.Key)
		p.deadline.Put(&one.deadline, g.why.At)
		p.todo = append(p.todo, Action{Do: Retry, Pod: known.ref, Eviction: one})
	}
	g.members = nil
	p.makeWay(g)
}

// FirstStays is called when the first of those that go with the pod could not be evicted: the group is called off.
func (*Pods) FirstStays(ev *Eviction) { ev.group = nil }

// makeWay has the condemned pod leave once all others have.
func (p *Pods) makeWay(g *group) {
	if len(g.left) == 0 && g.last.Armed() {
		p.todo = append(p.todo, Action{Do: Retry, Pod: g.last.pod.ref, Eviction: g.last})
	}
}

// leftGroup is called when an eviction is over.
func (p *Pods) leftGroup(ev *Eviction) {
	if g := ev.group; g != nil && g.left[ev.pod.ref.Key] {
		delete(g.left, ev.pod.ref.Key)
		p.makeWay(g)
	}
}

// checkTogether is the last check of an eviction that nothing calls off any more: only leadership, and those that go first,
// delay it.
func (ev *Eviction) checkTogether(permits Permits) Answer {
	a := Answer{Why: ev.group.why}
	switch {
	case permits.NoWrite:
		a.Wait, a.Delay = permits.Ask, MayWrite
	case ev.group.last == ev && len(ev.group.left) > 0:
		a.Wait, a.Delay = permits.Again, Together
	default:
		a.Evict = true
	}
	return a
}
