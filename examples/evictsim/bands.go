package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/evictsim/page"
)

// eventsOf returns what was done to a cluster until the scenario's end, and how many events more than fit the page. It folds
// equal events into one, and leaves out those that only end others, whose spans show it.
func eventsOf(s *simulation.Scenario) (events []page.Event, more int) {
	plan, until := s.Plan(), s.Until
	ends := make(map[int]bool) // places in plan
	at := make(map[string]int) // places in events
	for i := range s.Traces {
		events = append(events, page.Event{Text: "a trace drives zone " + s.Traces[i].Zone, Spans: [][2]float64{{0, until.Seconds()}}})
	}
	for i := range plan {
		e := &plan[i]
		if e.At > until || ends[i] {
			continue
		}
		if i >= pageTimes {
			more++
			continue
		}
		span := [2]float64{e.At.Seconds(), e.At.Seconds()}
		if end, by, lasts := endOf(plan[i:], until); lasts {
			span[1] = end.Seconds()
			ends[i+by] = ends[i+by] || by > 0 && endsAll(e.Event, plan[i+by].Event)
		}
		text := e.String()
		if _, known := at[text]; !known {
			if len(events) >= pageEvents {
				more++
				continue
			}
			at[text] = len(events)
			events = append(events, page.Event{Text: text})
		}
		to := &events[at[text]]
		to.Spans = append(to.Spans, span)
	}
	for i := range events {
		events[i].Text += when(events[i].Spans, until)
	}
	return events, more
}

// when says when an event happened, and for how long its effect lasted.
func when(spans [][2]float64, until time.Duration) string {
	seconds := func(s float64) string { return short(time.Duration(s * float64(time.Second))) }
	first := spans[0]
	text := " at " + seconds(first[0])
	if n := len(spans); n > 1 {
		text = fmt.Sprintf(" ×%s, first at %s, last at %s", count(n), seconds(first[0]), seconds(spans[n-1][0]))
		every := spans[1][0] - first[0]
		even := true
		for i := range spans[1:] {
			even = even && spans[i+1][0]-spans[i][0] == every
		}
		if even && n > 2 {
			text = fmt.Sprintf(" ×%s, every %s from %s", count(n), seconds(every), seconds(first[0]))
		}
	}
	length := func(s [2]float64) float64 { return s[1] - s[0] }
	shortest, longest := length(first), length(first)
	for _, s := range spans {
		shortest, longest = min(shortest, length(s)), max(longest, length(s))
	}
	switch {
	case longest == 0:
		return text
	case len(spans) == 1 && first[1] == until.Seconds():
		return text + " to the end"
	case shortest < longest:
		return text + ", for " + seconds(shortest) + " to " + seconds(longest)
	case len(spans) > 1:
		return text + ", for " + seconds(longest) + " each"
	default:
		return text + " for " + seconds(longest)
	}
}

// endOf returns when the effect of a plan's first event ends, if it lasts, and the place in the plan of the event that
// ends it, 0 if that is the end of the scenario. The next event of the opposite kind that may select the same node, judging
// by zones and names, ends it. That may be too early, because that event may not select all of the nodes.
func endOf(plan []simulation.Planned, until time.Duration) (end time.Duration, by int, lasts bool) {
	first := &plan[0]
	if first.At >= until {
		return 0, 0, false
	}
	if first.API != nil && first.API.State == simulation.APIUp {
		return 0, 0, false
	}
	begins, opposite := lasting(first.Event)
	if begins == nil && first.API == nil {
		return 0, 0, false
	}
	for i := range plan[1:] {
		later := &plan[i+1]
		switch {
		case later.At > until:
			return until, 0, true
		case first.API != nil:
			if later.API != nil && (later.API.For == first.API.For || later.API.For == "") {
				return later.At, i + 1, true
			}
		case opposite(later.Event) != nil && touches(begins, opposite(later.Event)):
			return later.At, i + 1, true
		}
	}
	return until, 0, true
}

// endsAll says whether an event only ends the effect of another, on all nodes of that one.
func endsAll(first, later *simulation.Event) bool {
	if first.API != nil {
		return later.API.State == simulation.APIUp
	}
	begins, opposite := lasting(first)
	ends := opposite(later)
	return ends.String() == begins.String() || ends.Zone != "" && begins.Zone != "" && ends.Count == 0 && ends.Percent == 0 && ends.Labels == ""
}

// lasting returns the nodes of an event whose effect lasts, and a function that returns the nodes of an event that ends it.
func lasting(e *simulation.Event) (begins *simulation.Nodes, opposite func(*simulation.Event) *simulation.Nodes) {
	recovers := func(e *simulation.Event) *simulation.Nodes { return e.Recover }
	switch {
	case e.Fail != nil:
		return e.Fail, recovers
	case e.Partition != nil:
		return &e.Partition.Nodes, recovers
	case e.Cordon != nil:
		return e.Cordon, func(e *simulation.Event) *simulation.Nodes { return e.Uncordon }
	case e.Drain != nil:
		return &e.Drain.Nodes, func(e *simulation.Event) *simulation.Nodes { return e.Uncordon }
	}
	return nil, nil
}

// touches reports whether two selections may share a node, judging by their zones and names.
func touches(a, b *simulation.Nodes) bool {
	switch {
	case a.Zone != "" && b.Zone != "":
		return a.Zone == b.Zone
	case len(a.Names) == 0 || len(b.Names) == 0:
		return true
	}
	return slices.ContainsFunc(a.Names, func(name string) bool { return slices.Contains(b.Names, name) })
}
