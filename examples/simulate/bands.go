package main

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/examples/simulate/page"
	"github.com/evictkit/evictkit/internal/scenario"
)

// eventsOf returns the scenario's events as text, and the events of repeat once per round. An event whose effect lasts has
// a band up to the event that ends it.
func eventsOf(s *scenario.Scenario) (events []page.Event) {
	plan, until := s.Plan(), s.Until.Value()
	for i := range plan {
		if len(events) == pageEvents {
			return events
		}
		e := &plan[i]
		if e.Registers {
			continue
		}
		event := page.Event{At: e.At.Seconds(), Text: e.String()}
		if end, lasts := endOf(plan[i:], until); lasts {
			event.Until = end.Seconds()
		}
		events = append(events, event)
	}
	return events
}

// endOf returns when the effect of a plan's first event ends, if it lasts. An event on nodes ends with the next event of
// the opposite kind that may select a node of the same zone or a node of the same name. That may be too early, because
// some nodes may not be selected.
func endOf(plan []scenario.Planned, until time.Duration) (end time.Duration, lasts bool) {
	first := &plan[0]
	if first.At >= until {
		return 0, false
	}
	if first.API != nil && first.API.State == scenario.APIUp {
		return 0, false
	}
	begins, opposite := lasting(first.Event)
	if begins == nil && first.API == nil {
		return 0, false
	}
	for i := range plan[1:] {
		later := &plan[i+1]
		switch {
		case later.At > until:
			return until, true
		case first.API != nil:
			if later.API != nil && (later.API.For == first.API.For || later.API.For == "") {
				return later.At, true
			}
		case opposite(later.Event) != nil && touches(begins, opposite(later.Event)):
			return later.At, true
		}
	}
	return until, true
}

// lasting returns the nodes of an event whose effect lasts, and a function that returns the nodes of an event that ends it.
func lasting(e *scenario.Event) (begins *scenario.Selector, opposite func(*scenario.Event) *scenario.Selector) {
	recovers := func(e *scenario.Event) *scenario.Selector { return e.Recover }
	switch {
	case e.Fail != nil:
		return e.Fail, recovers
	case e.Partition != nil:
		return &e.Partition.Selector, recovers
	case e.Cordon != nil:
		return e.Cordon, func(e *scenario.Event) *scenario.Selector { return e.Uncordon }
	case e.Drain != nil:
		return e.Drain, func(e *scenario.Event) *scenario.Selector { return e.Uncordon }
	}
	return nil, nil
}

// touches reports whether two selections may share a node, judging by their zones and names.
func touches(a, b *scenario.Selector) bool {
	switch {
	case a.Zone != nil && b.Zone != nil:
		return *a.Zone == *b.Zone
	case a.Several() || b.Several():
		return true
	}
	return slices.ContainsFunc(names(a), func(name string) bool { return slices.Contains(names(b), name) })
}

func names(s *scenario.Selector) []string {
	if s.Node != "" {
		return []string{s.Node}
	}
	return s.Nodes
}
