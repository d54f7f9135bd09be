package simulation

import (
	"fmt"
	"slices"
	"time"
)

// roll is a rolling replacement in progress: each of its nodes is drained, replaced and waited for before the next.
type roll struct {
	event Planned
	nodes []string // to come
	now   string   // the node that is drained, empty while the roll waits
	next  time.Duration
}

// startRoll chooses the nodes.
func (p *player) startRoll(e *Planned) error {
	r := roll{event: *e, next: p.cluster.Clock.Elapsed()}
	err := p.choose(e, nil, func(n *node) { r.nodes = append(r.nodes, n.name) })
	p.teller.touched = p.teller.touched[:0] // nothing has happened to them yet
	p.rolls = append(p.rolls, r)
	return err
}

// nextRoll returns when a roll goes on with its next node. While it drains one, that is when drains go on.
func (p *player) nextRoll() time.Duration {
	next := never
	if p.stalled() {
		return next
	}
	for i := range p.rolls {
		if p.rolls[i].now == "" {
			next = min(next, p.rolls[i].next)
		}
	}
	return next
}

// goOnRolling replaces nodes that are drained, and drains the next. A node that is gone by then is left out.
func (p *player) goOnRolling(at time.Duration) error {
	if p.stalled() {
		return nil
	}
	going := p.rolls[:0]
	for _, r := range p.rolls {
		if err := p.goOn(&r, at); err != nil {
			return err
		}
		if r.now != "" || len(r.nodes) > 0 {
			going = append(going, r)
		}
	}
	p.rolls = going
	return nil
}

func (p *player) goOn(r *roll, at time.Duration) error {
	if r.now != "" {
		i, exists := p.cluster.nodeByID[r.now]
		if exists && slices.ContainsFunc(p.drains, func(d drain) bool { return d.node == i }) {
			return nil
		}
		after := r.event.Roll.After
		if exists {
			if err := p.doTo(r, Event{ReplaceNode: &ReplaceNode{Nodes: Nodes{Names: []string{r.now}}, After: after}}); err != nil {
				return err
			}
		}
		r.now, r.next = "", at+after+r.event.Roll.Wait
	}
	for r.now == "" && r.next <= at && len(r.nodes) > 0 {
		name := r.nodes[0]
		r.nodes = r.nodes[1:]
		if _, exists := p.cluster.nodeByID[name]; !exists {
			continue
		}
		r.now = name
		if err := p.doTo(r, Event{Drain: &Nodes{Names: []string{name}}}); err != nil {
			return err
		}
		p.goOnDraining(at)
		return p.goOn(r, at) // it may be empty already
	}
	return nil
}

// doTo makes a step of a roll happen now, as an event of its number.
func (p *player) doTo(r *roll, e Event) error {
	step := r.event
	step.Event, step.At = &e, p.cluster.Clock.Elapsed()
	if err := p.happen(&step); err != nil {
		return fmt.Errorf("%s: roll: %w", step.place(), err)
	}
	p.tellEvent(&step)
	if e.ReplaceNode != nil {
		step.At, step.Registers = step.At+e.ReplaceNode.After, true
		p.plan(step)
	}
	return nil
}

// warnOfReplacing notes that an event has deleted several nodes at once, which a rolling replacement does not.
func (p *player) warnOfReplacing(e *Planned, nodes int) {
	if nodes < 2 || e.Number < 0 || e.Round > 1 {
		return
	}
	p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("%s (at %v) replaces %d nodes at once, with their pods; roll drains and replaces one after the other", e.place(), e.At, nodes))
}
