package main

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/maintenance"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// sparing is an evictor that spares nodes whose conditions announce maintenance.
type sparing struct {
	*evictor.Evictor
	announced *maintenance.Announced
}

// announces returns what spares nodes in a world, each for that long at most; nil if that is 0.
func announces(w *simulation.World, options *evictor.Options, most time.Duration) *maintenance.Announced {
	if most == 0 {
		return nil
	}
	a := &maintenance.Announced{For: most, Nodes: w.Clients().Nodes, Clock: w.Clock()}
	options.Hold, options.Excluded = a.Hold, a.Excluded
	return a
}

// Step implements simulation.Controller.
func (s *sparing) Step(ctx context.Context) (next time.Time, err error) {
	_, _ = s.announced.Step(ctx) // its error is always nil
	next, err = s.Evictor.Step(ctx)
	ends, _ := s.announced.Step(ctx) // of those, too, that the evictor has seen only now
	if next.IsZero() || !ends.IsZero() && ends.Before(next) {
		next = ends
	}
	return next, err
}
