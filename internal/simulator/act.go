package simulator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
)

// World is what Options.Subject gets to make a Subject.
type World struct {
	Settings scenario.Settings
	Cluster  *Cluster
	Writer   *Writer
	// Decided takes the decisions of our evictors, for the timeline and the figures.
	Decided func(evictor.Decision)
	// Act makes an event happen now. It returns an error if the event is invalid, or if it goes through the API and the API
	// is down; then nothing has happened.
	Act func(*scenario.Event) error
}

// act makes an event happen for a controller.
func (p *player) act(e *scenario.Event) error {
	if e.Restart != nil {
		return errors.New("restart: only an event of the scenario can restart controllers")
	}
	if err := e.CheckNow(p.cluster.Inventory()); err != nil {
		return err
	}
	if asksAPI(e) {
		if err := p.writer.Before(context.Background(), e.Actions()[0], ""); err != nil {
			return err
		}
	}
	at := p.cluster.Clock.Elapsed()
	p.acts++
	planned := scenario.Planned{Event: e, At: at, Number: -p.acts}
	if err := p.happen(&planned); err != nil {
		p.teller.touched = p.teller.touched[:0]
		return err
	}
	p.tellEvent(&planned)
	if e.ReplaceNode != nil {
		planned.At, planned.Registers = at+e.ReplaceNode.After.Value(), true
		p.plan(planned)
	}
	return nil
}

// plan adds an event after all events of its time.
func (p *player) plan(e scenario.Planned) {
	at, _ := slices.BinarySearchFunc(p.events, e.At+1, func(e scenario.Planned, at time.Duration) int { return cmp.Compare(e.At, at) })
	p.events = slices.Insert(p.events, at, e)
}

// asksAPI reports whether an event is a call to the API. The others happen to machines and networks.
func asksAPI(e *scenario.Event) bool {
	return e.Fail == nil && e.Recover == nil && e.Partition == nil && e.Condition == nil && e.API == nil && e.LoseLeases == nil && e.ShowLeases == nil
}
