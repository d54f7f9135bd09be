package simulation

import (
	"fmt"
	"math"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

func failure(on *Nodes) action {
	return action{
		nodes: on, machines: true, kubelets: true,
		on: func(_ *player, n *node) bool { return !n.failed || n.parted },
		do: func(p *player, _ *Planned, n *node) { p.cluster.Fail(n) },
	}
}

func recovery(on *Nodes) action {
	return action{
		nodes: on, machines: true, kubelets: true,
		on: func(_ *player, n *node) bool { return n.failed },
		do: func(p *player, _ *Planned, n *node) { p.cluster.Recover(n) },
	}
}

func (x *Partition) action() action {
	reach := x.reach()
	return action{
		nodes: &x.Nodes, machines: true, kubelets: true,
		on: func(_ *player, n *node) bool { return !n.failed },
		do: func(p *player, _ *Planned, n *node) { p.cluster.silence(n, true, int(math.Round(reach*whole))) },
		check: func(f faults) {
			if !(reach >= 0 && reach <= 1) {
				f.in("clients").add("%v is outside 0…1", reach)
			}
		},
	}
}

func (x *LoseLeases) action() action {
	later := int64(x.ShowAfter)
	return action{
		nodes: &x.Nodes, machines: true,
		on:    func(_ *player, n *node) bool { return !n.unseen || n.later != later },
		do:    func(p *player, _ *Planned, n *node) { n.unseen, n.later, p.cluster.loses = true, later, true },
		check: func(f faults) { notNegative(f.in("showAfter"), x.ShowAfter) },
	}
}

func shownAgain(on *Nodes) action {
	return action{
		nodes: on, machines: true,
		on: func(_ *player, n *node) bool { return n.unseen },
		do: func(_ *player, _ *Planned, n *node) { n.unseen, n.later = false, 0 },
	}
}

func (c *Condition) action() action {
	return action{
		nodes: &c.Nodes, machines: true, check: c.check, may: c.may, words: fmt.Sprintf("%s reports %s=%s", c.Nodes.describe(), c.Type, c.Status),
		on: func(_ *player, n *node) bool { return n.news(c) },
		do: func(p *player, _ *Planned, n *node) { p.cluster.SetCondition(n, c.Type, c.Status) },
	}
}

// may returns an error if a condition is the kubelet's, and a node that the event names has failed.
func (c *Condition) may(p *player) error {
	for _, name := range c.Names {
		if p.cluster.Failed(name) && placement.FindCondition(healthy, c.Type) >= 0 {
			return fmt.Errorf("node %s has failed: only a live kubelet reports conditions", name)
		}
	}
	return nil
}

func (c *Condition) check(f faults) {
	if c.Type == "" {
		f.missing("type")
	}
	if !validStatus(c.Status) {
		f.in("status").add("%q is not one of True, False and Unknown", c.Status)
	}
}
