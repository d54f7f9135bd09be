package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// act makes an event happen for a controller.
func (p *player) act(e *Event) error {
	if e.Restart != nil {
		return errors.New("restart: only an event of the scenario can restart controllers")
	}
	action, err := e.action()
	if err != nil {
		return err
	}
	f := newFaults()
	if e.check(f); !f.none() {
		return fmt.Errorf("%s: %w", action, f.invalid())
	}
	if asksAPI(e) {
		if err := p.writer.Before(context.Background(), action, ""); err != nil {
			return err
		}
	}
	at := p.cluster.Clock.Elapsed()
	p.acts++
	planned := Planned{Event: e, At: at, Number: -p.acts}
	if err := p.happen(&planned); err != nil {
		return err
	}
	p.tellEvent(&planned)
	if e.ReplaceNode != nil {
		planned.At, planned.Registers = at+e.ReplaceNode.After, true
		p.plan(planned)
	}
	return nil
}

// plan adds an event after all events of its time.
func (p *player) plan(e Planned) {
	at, _ := slices.BinarySearchFunc(p.events, e.At+1, func(e Planned, at time.Duration) int { return cmp.Compare(e.At, at) })
	p.events = slices.Insert(p.events, at, e)
}

// asksAPI reports whether an event is a call to the API. The others happen to machines and networks.
func asksAPI(e *Event) bool {
	return e.Fail == nil && e.Recover == nil && e.Partition == nil && e.Condition == nil && e.API == nil && e.LoseLeases == nil && e.ShowLeases == nil
}
