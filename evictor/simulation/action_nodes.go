package simulation

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

func (x *Taint) action() action {
	taint := v1.Taint{Key: x.Key, Value: x.Value, Effect: x.Effect}
	return action{
		nodes: &x.Nodes, words: fmt.Sprintf("taint %s %s:%s", x.Nodes.describe(), x.Key, x.Effect),
		on: func(_ *player, n *node) bool {
			return !slices.ContainsFunc(n.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) && t.Value == taint.Value })
		},
		do:    func(p *player, _ *Planned, n *node) { p.cluster.SetTaint(n, taint) },
		check: func(f faults) { checkTaint(f, x.Key, x.Effect) },
	}
}

func (x *Untaint) action() action {
	return action{
		nodes: &x.Nodes, words: fmt.Sprintf("untaint %s %s:%s", x.Nodes.describe(), x.Key, x.Effect),
		on: func(_ *player, n *node) bool {
			return slices.ContainsFunc(n.Taints, func(t v1.Taint) bool { return t.Key == x.Key && t.Effect == x.Effect })
		},
		do:    func(p *player, _ *Planned, n *node) { p.cluster.RemoveTaint(n, x.Key, x.Effect) },
		check: func(f faults) { checkTaint(f, x.Key, x.Effect) },
	}
}

func outage(on *Nodes) action {
	taint := v1.Taint{Key: taintOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute}
	return action{
		nodes: on,
		on:    func(p *player, n *node) bool { return !p.cluster.outOfService[p.cluster.nodeByID[n.Name]] },
		do:    func(p *player, _ *Planned, n *node) { p.cluster.SetTaint(n, taint) },
	}
}

func cordon(on *Nodes, closes bool) action {
	return action{
		nodes: on,
		on:    func(_ *player, n *node) bool { return n.Unschedulable != closes },
		do:    func(p *player, _ *Planned, n *node) { p.cluster.Cordon(n, closes) },
	}
}

func (d *Drain) action() action {
	return action{
		nodes: &d.Nodes, check: d.check, more: d.text(), on: (*player).canDrain,
		do: func(p *player, e *Planned, n *node) {
			if p.cluster.outside.Drain != nil && !p.inRoll(e) {
				p.drainOutside(n, e)
			} else {
				p.drain(n, e)
			}
		},
	}
}

func (x *Roll) action() action {
	var chosen []string
	return action{
		nodes: &x.Nodes, more: timeoutText(x.Timeout, x.Then),
		do:   func(_ *player, _ *Planned, n *node) { chosen = append(chosen, n.Name) },
		done: func(p *player, e *Planned) { p.startRoll(e, chosen) },
		check: func(f faults) {
			notNegative(f.in("after"), x.After)
			notNegative(f.in("wait"), x.Wait)
			checkTimeout(f, x.Timeout, x.Then)
		},
	}
}

func deletion(on *Nodes) action {
	return action{nodes: on, replaces: true, do: func(p *player, _ *Planned, n *node) { p.cluster.DeleteNode(n) }}
}

func (x *ReplaceNode) action() action {
	var heirs []successorOf
	return action{
		nodes: &x.Nodes, replaces: true,
		do: func(p *player, _ *Planned, n *node) {
			heirs = append(heirs, p.cluster.heir(n))
			p.cluster.DeleteNode(n)
		},
		done:  func(p *player, e *Planned) { p.replaceNodes(e, heirs) },
		check: func(f faults) { notNegative(f.in("after"), x.After) },
	}
}

func (a *AddNode) action() action {
	fields := a.fields()
	return action{play: func(p *player, _ *Planned) error { return p.addNode(a) }, check: fields.check, more: " " + fields.Name}
}

func (a *AddNode) check(f faults) {
	checkObjectName(f, a.Name)
	checkLabel(f.in("zone"), a.Zone)
	checkLabel(f.in("region"), a.Region)
	a.NodeFields.check(f)
	a.Pod.check(f.in("pod"))
	bounded(f.in("podsPerNode"), a.PodsPerNode, maxPodsPerNode)
	bounded(f.in("daemonSetPodsPerNode"), a.DaemonSetPodsPerNode, maxPodsPerNode)
}

// startRoll begins to roll the nodes that an event has chosen.
func (p *player) startRoll(e *Planned, nodes []string) {
	p.teller.touched = p.teller.touched[:0] // nothing has happened to them yet
	p.rolls = append(p.rolls, roll{event: *e, nodes: nodes, all: len(nodes), next: p.cluster.Clock.Elapsed()})
}
