package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/maintenance"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// sparing is an evictor that spares nodes whose conditions announce maintenance.
type sparing struct {
	*evictor.Evictor
	announced *maintenance.Announced
}

// announces puts what spares nodes in a world on the options; nil if the scenario spares none.
func (j *job) announces(w *simulation.World, options *evictor.Options) *maintenance.Announced {
	if j.spares == 0 {
		return nil
	}
	a := &maintenance.Announced{For: j.spares, Nodes: w.Clients().Nodes, Clock: w.Clock()}
	options.Hold, options.Excluded = a.Hold, a.Excluded
	if j.spared != nil {
		options.Hold = j.tellSpared(w, a.Hold)
	}
	return a
}

// tellSpared returns a Hold that tells when a node begins or ceases to be spared, or is spared for another reason.
func (j *job) tellSpared(w *simulation.World, hold func(*v1.Node) (string, bool)) func(*v1.Node) (string, bool) {
	reasons := make(map[string]string)
	return func(node *v1.Node) (reason string, held bool) {
		reason, held = hold(node)
		if was := reasons[node.Name]; reason != was {
			text := fmt.Sprintf("node %s: no longer spared for its condition %s", node.Name, was)
			if held {
				text = fmt.Sprintf("node %s: spared for up to %s, because of its condition %s", node.Name, short(j.spares), reason)
			}
			reasons[node.Name] = reason
			j.spared(w.Clock().Since(simulation.Epoch), node.Name, text)
		}
		return reason, held
	}
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
