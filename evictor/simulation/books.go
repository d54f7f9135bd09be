package simulation

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/zone"
)

// account is what a pod counts for. It follows from the records of the pod and its node: whoever changes one of them calls
// podChanged, nodeChanged or bookNode, need not know what is counted, and the difference is entered.
type account struct {
	lacks  uint16 // how many thousandths of its clients reach no live pod
	traits traits
}

// traits say in which books a pod is.
type traits uint16

const (
	bound      traits = 1 << iota // to a node, which exists or did
	takes                         // room, ports and claims of its node
	spreads                       // among the pods that topology spread counts
	loads                         // its node
	completed                     // as one of those that load it
	live                          // for its workload and budgets
	available                     // for its budgets: Ready, as the API shows it
	terminates                    // it is being deleted, and is of no DaemonSet
	marked                        // by the controller, as not Ready
	hidden                        // so from the clients of its services, unless it is of a DaemonSet
	goesFirst                     // those of its set that come after it may be created

	ofSpec = bound | takes | spreads | live | available   // depend on its spec, and on what it belongs to
	ofNode = takes | spreads | loads | completed | marked // count for its node, too
)

// books are what counts pods, and for which trait each does.
var books = [...]struct {
	trait traits
	enter func(c *cluster, i int32, by int)
}{
	{bound, (*cluster).exists}, {spreads, (*cluster).spreads}, {takes, (*cluster).occupies}, {loads, (*cluster).loads}, {completed, (*cluster).ends},
	{live, (*cluster).lives}, {available, (*cluster).healthy}, {terminates, (*cluster).terminates}, {marked, (*cluster).marks}, {hidden, (*cluster).withoutEndpoints},
	{goesFirst, (*cluster).goesOn},
}

// accountOf is what a pod counts for now.
func (c *cluster) accountOf(p *pod) (a account) {
	n, over, daemon := &c.nodes[p.node], p.phase.finished(), p.spec.ofDaemonSet()
	wanted := !p.terminating && !daemon
	a.traits = bound
	for _, has := range [...]struct {
		trait traits
		is    bool
	}{
		{takes, !over && !n.Deleted}, {spreads, !over && !p.terminating}, {loads, wanted}, {completed, wanted && over},
		{live, wanted && !over && !p.unstarted && n.serves()}, {available, p.ready && !p.terminating}, {terminates, p.terminating && !daemon},
		{marked, p.marked}, {hidden, p.marked && !daemon}, {goesFirst, p.ready || over},
	} {
		if has.is {
			a.traits |= has.trait
		}
	}
	switch {
	case p.owed, wanted && !over && p.unstarted:
		a.lacks = whole
	case wanted && !over:
		a.lacks = uint16(n.lacks()) //nolint:gosec // at most whole
	}
	return a
}

// book enters what has changed about a pod since it was last booked.
func (c *cluster) book(i int32) {
	p := &c.pods[i]
	was, is := p.booked, c.accountOf(p)
	p.booked = is
	c.enter(i, was, is)
}

// enter replaces what a pod counted for.
func (c *cluster) enter(i int32, was, is account) {
	gone, come := was.traits&^is.traits, is.traits&^was.traits
	for k := range books {
		switch b := &books[k]; {
		case gone&b.trait != 0:
			b.enter(c, i, -1)
		case come&b.trait != 0:
			b.enter(c, i, 1)
		}
	}
	if was.lacks != is.lacks {
		c.stats.lacks(c.now(), int(is.lacks)-int(was.lacks))
	}
	if (gone|come)&(takes|loads) != 0 {
		c.filters.Loaded(c.pods[i].node)
	}
}

// rebook changes what some of a pod's traits count for: its spec, its memberships or its node.
func (c *cluster) rebook(i int32, of traits, change func(p *pod)) {
	p := &c.pods[i]
	was := p.booked
	p.booked.traits &^= of
	c.enter(i, was, p.booked)
	change(p)
	c.book(i)
}

// nodeAccount is what a node counts for.
type nodeAccount struct {
	zone                 zone.Key
	exists, alive, waits bool
	hindrance            hindrance // if it waits
	lacks                int
}

// bookNode enters what has changed about a node, and about its pods because of that.
func (c *cluster) bookNode(i int32) {
	n := &c.nodes[i]
	was, is := n.booked, nodeAccount{lacks: n.lacks()}
	if !n.Deleted {
		is = nodeAccount{zone: n.zone, exists: true, alive: !n.failed, waits: n.waits(), lacks: n.lacks()}
		if is.waits {
			is.hindrance = c.hindrances[i]
		}
	}
	if n.booked = is; was != is {
		c.inZone(was, -1)
		c.inZone(is, 1)
	}
	for p := n.firstPod; p >= 0 && (was.lacks != is.lacks || was.exists != is.exists); p = c.pods[p].next {
		c.book(p)
	}
	c.leaveService(i)
	c.filters.NodeChanged(i)
}

func (c *cluster) nodeChanged(n *node) {
	c.serial++
	n.version = c.serial
	n.wasTainted = n.wasTainted || tainted(n)
	c.bookNode(c.nodeByID[n.Name])
	c.world.nodeChanged(n.Name)
}

// podChanged books a pod whose record has changed, and tells of it.
func (c *cluster) podChanged(i int32) {
	c.book(i)
	c.changesJob(i)
	c.world.podChanged(c.keyOf(&c.pods[i]))
}

// leaveService records whether a node has the out-of-service taint.
func (c *cluster) leaveService(i int32) {
	n := &c.nodes[i]
	if !n.Deleted && slices.ContainsFunc(n.Taints, func(t v1.Taint) bool { return t.Key == taintOutOfService }) {
		c.outOfService[i] = true
	} else if len(c.outOfService) > 0 {
		delete(c.outOfService, i)
	}
}

// mark marks a pod not Ready.
func (c *cluster) mark(i int32) {
	c.pods[i].ready, c.pods[i].marked = false, true
	c.readiness(i)
	c.podChanged(i)
}

func (c *cluster) loads(i int32, by int) {
	c.nodes[c.pods[i].node].Pods += int32(by) //nolint:gosec // 1 or -1
}

func (c *cluster) ends(i int32, by int) { c.nodes[c.pods[i].node].finished += int32(by) } //nolint:gosec // 1 or -1
