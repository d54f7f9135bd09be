package simulation

import (
	"fmt"
	"time"
)

// roll is a rolling replacement in progress: each of its nodes is drained, replaced and waited for before the next.
type roll struct {
	event    Planned
	nodes    []string // to come
	all      int      // how many it chose
	replaced int
	now      *drain // nil while the roll waits
	next     time.Duration
}

// nextRoll returns when a roll goes on with its next node. While it drains one, that is when drains go on.
func (p *player) nextRoll() time.Duration {
	next := never
	if p.stalled() {
		return next
	}
	for i := range p.rolls {
		if r := &p.rolls[i]; r.now == nil || r.now.ended != drainGoesOn {
			next = min(next, r.next)
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
		if r.now != nil || len(r.nodes) > 0 {
			going = append(going, r)
		}
	}
	p.rolls = going
	return nil
}

func (p *player) goOn(r *roll, at time.Duration) error {
	for {
		if d := r.now; d != nil {
			if d.ended == drainGoesOn {
				return nil
			}
			if err := p.goOnAfter(r, d, at); err != nil {
				return err
			}
		}
		if r.next > at || len(r.nodes) == 0 {
			return nil
		}
		name := r.nodes[0]
		r.nodes = r.nodes[1:]
		i, exists := p.cluster.nodeByID[name]
		if !exists {
			continue
		}
		if err := p.doTo(r, Event{Drain: r.event.Roll.drainOf(name)}); err != nil {
			return err
		}
		if r.now = p.drainOf(&p.cluster.nodes[i]); r.now != nil {
			r.now.rolls = true
		}
		p.goOnDraining(at) // it may be empty already
	}
}

// drainOf is the drain of one node of a roll.
func (r *Roll) drainOf(node string) *Drain {
	wait := false
	return &Drain{Nodes: Nodes{Names: []string{node}}, Timeout: r.Timeout, Then: r.Then, Bare: evictPods, EmptyDir: evictPods, Wait: &wait}
}

// goOnAfter replaces the node whose drain has ended, or stops the roll if the drain was given up.
func (p *player) goOnAfter(r *roll, d *drain, at time.Duration) error {
	if d.ended == drainGivenUp {
		p.stuckRoll(r, at)
		r.now, r.nodes = nil, nil
		return nil
	}
	after, n := r.event.Roll.After, &p.cluster.nodes[d.node]
	if !n.Deleted {
		if err := p.doTo(r, Event{ReplaceNode: &ReplaceNode{Nodes: Nodes{Names: []string{n.Name}}, After: after}}); err != nil {
			return err
		}
		r.replaced++
	}
	r.now, r.next = nil, at+after+r.event.Roll.Wait
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
	return nil
}
