package simulation

import (
	"slices"

	"github.com/evictkit/evictkit/evictor"
)

// successorOf is what a deleted node passes on to its replacement.
type successorOf struct {
	node    node
	daemons []daemon
}

// daemon is a pod that belongs to its node.
type daemon struct {
	key    evictor.PodKey
	spec   *podSpec
	member int32
}

// heir returns what the replacement of a node gets.
func (c *cluster) heir(n *node) (h successorOf) {
	h.node = node{name: n.name, labels: n.labels, taints: n.fresh, room: n.room.emptied()}
	for k := n.firstPod; k >= 0; k = c.pods[k].next {
		if pod := &c.pods[k]; pod.spec.OwnerKind == "DaemonSet" || pod.spec.Mirror {
			id := c.pods[k].id
			h.daemons = append(h.daemons, daemon{evictor.PodKey{Namespace: c.spaces[id.space], Name: id.name}, pod.spec, pod.member})
		}
	}
	slices.Reverse(h.daemons) // in the order in which they were added
	return h
}

// replaceNode deletes nodes, or adds their replacements.
func (p *player) replaceNode(e *Planned) error {
	c := p.cluster
	defer p.remember()
	if e.registers {
		for i := range e.heirs {
			if err := p.register(&e.heirs[i]); err != nil {
				return err
			}
			p.touch(e.heirs[i].node.name)
		}
		return nil
	}
	later := *e
	later.At, later.registers = shift(c.Clock.Elapsed(), e.ReplaceNode.After), true
	a := e.does()
	a.do = func(_ *player, _ *Planned, n *node) {
		later.heirs = append(later.heirs, c.heir(n))
		c.DeleteNode(n)
	}
	if err := p.choose(e, &a); err != nil {
		return err
	}
	p.warnOfReplacing(e, len(later.heirs))
	p.plan(&later)
	return nil
}

func (p *player) register(h *successorOf) error {
	c := p.cluster
	h.node.created, h.node.conditions, h.node.reported = stamp(c.now()), c.registered(), c.now()
	for i := range h.node.taints {
		if t := &h.node.taints[i]; t.TimeAdded != nil {
			*t = newTaint(t.Key, t.Value, t.Effect, stamp(c.now()))
		}
	}
	h.node.taints = admittedWith(h.node.taints)
	if err := c.addNode(h.node); err != nil {
		return err
	}
	c.tellHappening(h.node.name, "a new node of this name registers")
	for _, d := range h.daemons {
		if _, exists := c.findPod(d.key); exists {
			continue // the new kubelet runs it
		}
		if err := c.addWanted(c.id(d.key), pod{spec: d.spec, ready: true, bound: c.now(), member: d.member}, h.node.name); err != nil {
			return err
		}
	}
	c.startKubelet(c.nodeByID[h.node.name])
	return nil
}
