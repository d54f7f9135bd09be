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
func eventsOf(s *simulation.Scenario, touched []simulation.Touched) (events []page.Event, more int) {
	plan, until := s.Plan(), s.Until
	at := make(map[string]int) // places in events
	for i := range s.Traces {
		events = append(events, page.Event{Text: "a trace drives zone " + s.Traces[i].Zone, Spans: [][2]float64{{0, until.Seconds()}}, Zones: []string{s.Traces[i].Zone}})
	}
	where := make(map[simulation.Place]*simulation.Touched, len(touched))
	for i := range touched {
		t := &touched[i]
		where[t.Place] = t
	}
	spans := spansOf(plan, where, until)
	for i := range plan {
		e := &plan[i]
		if e.At > until || spans[i].ends {
			continue
		}
		if i >= pageTimes {
			more++
			continue
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
		to.Spans = append(to.Spans, [2]float64{e.At.Seconds(), spans[i].to.Seconds()})
		to.Zones = zonesWith(to.Zones, where[e.Place])
	}
	for i := range events {
		events[i].Text += when(events[i].Spans, until)
	}
	return events, more
}

// zonesWith adds the zones of the nodes that were touched, if any were, to these.
func zonesWith(zones []string, touched *simulation.Touched) []string {
	if touched == nil {
		return zones
	}
	for _, zone := range touched.Zones {
		if zone = zoneName(zone); !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	return zones
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

// lasts is what became of a planned event.
type lasts struct {
	to   time.Duration // when its effect has ended on each node that it touched; its own time if it has none that lasts
	left int           // nodes on which it lasts
	ends bool          // it only ends others
}

// lasting are the effects that last on nodes, and the places in the plan of the events that cause them.
type lasting struct {
	spans        []lasts
	down, closed map[string]int // by the node
	api          map[string]int // by whose calls are meant
}

// spansOf follows the effects of events on the very nodes that they touched. What is still there in the end lasts until then.
func spansOf(plan []simulation.Planned, touched map[simulation.Place]*simulation.Touched, until time.Duration) []lasts {
	l := lasting{spans: make([]lasts, len(plan)), down: make(map[string]int), closed: make(map[string]int), api: make(map[string]int)}
	for i := range plan {
		if e := &plan[i]; e.At <= until {
			l.spans[i].to = e.At
			var nodes []string
			if t := touched[e.Place]; t != nil {
				nodes = t.Nodes
			}
			l.event(i, e, nodes)
		}
	}
	for i := range l.spans {
		if l.spans[i].left > 0 {
			l.spans[i].to = until
		}
	}
	return l.spans
}

func (l *lasting) event(i int, e *simulation.Planned, nodes []string) {
	switch {
	case e.Fail != nil, e.Partition != nil:
		l.begin(l.down, i, e.At, nodes)
	case e.Recover != nil:
		l.spans[i].ends = l.end(l.down, e.At, nodes)
	case e.Cordon != nil, e.Drain != nil:
		l.begin(l.closed, i, e.At, nodes)
	case e.Uncordon != nil:
		l.spans[i].ends = l.end(l.closed, e.At, nodes)
	case e.DeleteNode != nil, e.ReplaceNode != nil:
		l.end(l.down, e.At, nodes)
		l.end(l.closed, e.At, nodes)
	case e.API != nil:
		l.calls(i, e)
	}
}

// begin notes an effect on nodes. It ends what another event caused there.
func (l *lasting) begin(on map[string]int, i int, at time.Duration, nodes []string) {
	l.end(on, at, nodes)
	for _, node := range nodes {
		on[node] = i
	}
	l.spans[i].left = len(nodes)
}

// end ends an effect on nodes, and says whether it was on all of them, and some.
func (l *lasting) end(on map[string]int, at time.Duration, nodes []string) (all bool) {
	all = len(nodes) > 0
	for _, node := range nodes {
		i, lasts := on[node]
		if all = all && lasts; lasts {
			delete(on, node)
			l.spans[i].left--
			l.spans[i].to = at
		}
	}
	return all
}

// calls notes what the API does with calls from then on.
func (l *lasting) calls(i int, e *simulation.Planned) {
	var whose []string
	if e.API.For != simulation.ForKubelets {
		whose = append(whose, simulation.ForEvictor)
	}
	if e.API.For != simulation.ForEvictor && e.API.State != simulation.APIFailing {
		whose = append(whose, simulation.ForKubelets)
	}
	if e.API.State != simulation.APIUp {
		l.begin(l.api, i, e.At, whose)
		return
	}
	for _, side := range whose { // the other may have been up
		ended := l.end(l.api, e.At, []string{side})
		l.spans[i].ends = l.spans[i].ends || ended
	}
}
