package simulation

import (
	"fmt"
	"slices"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// successorOf is what a deleted node passes on to its replacement.
type successorOf struct {
	node    node
	daemons []comeback // that belong to it
}

// heir returns what the replacement of a node gets.
func (c *cluster) heir(n *node) (h successorOf) {
	h.node = node{NodeInfo: &placement.NodeInfo{Name: n.Name, Labels: n.Labels, Taints: n.fresh, Room: n.Room.Emptied()}}
	for k := n.firstPod; k >= 0; k = c.pods[k].next {
		if pod := &c.pods[k]; pod.spec.OwnerKind == "DaemonSet" || pod.spec.Mirror {
			h.daemons = append(h.daemons, comeback{key: c.keyOf(pod), spec: pod.spec, member: pod.member})
		}
	}
	slices.Reverse(h.daemons) // in the order in which they were added
	return h
}

// replaceNodes lets the replacements of nodes that are deleted now register later.
func (p *player) replaceNodes(e *Planned, heirs []successorOf) {
	later := *e
	later.At, later.registers, later.heirs = shift(p.cluster.Clock.Elapsed(), e.ReplaceNode.After), true, heirs
	p.warnOfReplacing(e, len(heirs))
	p.plan(&later)
}

// registerAll adds the replacements of nodes.
func (p *player) registerAll(heirs []successorOf) error {
	for i := range heirs {
		if err := p.register(&heirs[i]); err != nil {
			return err
		}
		p.touch(heirs[i].node.Name)
	}
	return nil
}

func (p *player) register(h *successorOf) error {
	c := p.cluster
	h.node.created, h.node.Conditions, h.node.reported = stamp(c.now()), c.registered(), c.now()
	for i := range h.node.Taints {
		if t := &h.node.Taints[i]; t.TimeAdded != nil {
			*t = newTaint(t.Key, t.Value, t.Effect, stamp(c.now()))
		}
	}
	h.node.Taints = admittedWith(h.node.Taints)
	if err := c.addNode(h.node); err != nil {
		return err
	}
	c.tellHappening(h.node.Name, "a new node of this name registers")
	for _, d := range h.daemons {
		if _, exists := c.findPod(d.key); exists {
			continue // the new kubelet runs it
		}
		if err := c.addWanted(c.id(d.key), pod{spec: d.spec, ready: true, bound: c.now(), member: d.member}, h.node.Name); err != nil {
			return err
		}
	}
	c.startKubelet(c.nodeByID[h.node.Name])
	return nil
}

// warnOfReplacing notes that an event has deleted several nodes at once, which a rolling replacement does not.
func (p *player) warnOfReplacing(e *Planned, nodes int) {
	if nodes < 2 || e.Number < 0 || e.Round > 1 {
		return
	}
	p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("%s (at %s) replaces %d nodes at once, with their pods; roll drains and replaces one after the other", e.place(), Brief(e.At), nodes))
}
