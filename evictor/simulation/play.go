package simulation

import (
	"context"
	"fmt"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
)

// Play plays the scenario with the given controllers and reports the result. Without controllers, one evictor acts.
// Controllers are made and stepped in the given order. Play stops when the context ends. The error lists every fault of
// the scenario, or is the error of a controller, of Timeline or of the context.
func Play(ctx context.Context, s Scenario, controllers ...Start) (*Report, error) {
	s = s.withDefaults()
	translated, err := s.translate()
	if err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	if len(controllers) == 0 {
		controllers = []Start{func(w *World) (Controller, error) { return w.NewEvictor(evictor.Options{}) }}
	}
	cluster := simulator.New(&simulator.Clock{})
	left, err := s.fill(cluster)
	if err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	options := simulator.Options{Line: s.line(), Subject: func(inner simulator.World) (simulator.Subject, error) {
		inner.Writer.AskBudgets = s.AskBudgets
		w := &World{inner: inner, config: s.Config}
		return (*stage)(w), w.begin(controllers)
	}}
	played, err := simulator.Play(ctx, translated, cluster, options)
	if err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	r := reportOf(played)
	for what, pods := range left {
		if r.NotSimulated == nil {
			r.NotSimulated = make(map[string]int)
		}
		r.NotSimulated[what] += pods
	}
	return r, nil
}

// line returns a function that writes lines to the timeline; nil if there is none.
func (s *Scenario) line() func(scenario.Line) error {
	if s.Timeline == nil {
		return nil
	}
	var text []byte
	return func(l scenario.Line) error {
		text = append(l.AppendJSON(text[:0]), '\n')
		_, err := s.Timeline.Write(text)
		return err
	}
}
