package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// maxEvents limits the number of events in a scenario, counting all rounds of repeat.
const maxEvents = 1_000_000

// Place is where an event stands in a scenario.
type Place struct {
	Number int // in the file, from 1
	Round  int // of repeat, from 1; 0 if the event is not repeated
	Inner  int // the event's number in repeat, from 1
}

// Planned is an event at the time when it happens. Those of repeat appear once per round.
type Planned struct {
	*Event
	At time.Duration
	Place

	registers bool          // this is the second half of replaceNode, in which the new nodes report
	heirs     []successorOf // of the deleted nodes
}

// draw returns the round for Nodes.order.
func (p *Planned) draw() int { return max(p.Round-1, 0) }

// place names the event, such as event 3, or event 3, round 2, event 1.
func (p *Planned) place() string {
	if p.Round == 0 {
		return fmt.Sprintf("event %d", p.Number)
	}
	return fmt.Sprintf("event %d, round %d, event %d", p.Number, p.Round, p.Inner)
}

// path leads to the event; see Fault.Path.
func (p *Planned) path() []string {
	if p.Round == 0 {
		return []string{"events", strconv.Itoa(p.Number)}
	}
	return []string{"events", strconv.Itoa(p.Number), "repeat", "events", strconv.Itoa(p.Inner)}
}

// faults returns what collects the event's faults at a time.
func (p *Planned) faults(f faults, at time.Duration) faults {
	return f.at(fmt.Sprintf("%s (at %v)", p.place(), at), p.path()...)
}

// impossible returns the error of an event that cannot happen at its time.
func (p *Planned) impossible(at time.Duration, err error) error {
	f := p.faults(newFaults(), at).at("", p.Actions()...)
	f.add("%w", err)
	return f.invalid()
}

// Plan returns all events in the order of time, equal times as listed, but at most maxEvents. Of the rounds that begin
// after the end it contains only the first.
func (s *Scenario) Plan() []Planned {
	plan, _ := s.plan()
	return plan
}

// plan returns also the number of the event with which there are too many; 0 if there are not.
func (s *Scenario) plan() (all []Planned, cut int) {
	p := plan{all: make([]Planned, 0, len(s.Events)), until: s.Until}
	for i := range s.Events {
		e := &s.Events[i]
		if e.Repeat == nil || len(e.Actions()) > 1 {
			p.add(Planned{Event: e, At: e.At, Place: Place{Number: i + 1}})
			continue
		}
		p.repeat(e, i+1)
	}
	slices.SortStableFunc(p.all, func(a, b Planned) int { return cmp.Compare(a.At, b.At) })
	return p.all, p.cut
}

// plan adds an event among those to come. At its time it has the place of the event that it belongs to; those of controllers come
// last.
func (p *player) plan(e *Planned) {
	number := func(e *Planned) int {
		if e.Number < 0 {
			return math.MaxInt
		}
		return e.Number
	}
	at, _ := slices.BinarySearchFunc(p.events, e, func(a Planned, e *Planned) int {
		return cmp.Or(cmp.Compare(a.At, e.At), cmp.Compare(number(&a), number(e)), cmp.Compare(a.Round, e.Round), cmp.Compare(a.Inner, e.Inner), -1)
	})
	p.events = slices.Insert(p.events, at, *e)
}

type plan struct {
	all   []Planned
	until time.Duration
	cut   int // the number of the event with which there are more than are allowed; 0 if there are not
}

func (p *plan) add(e Planned) {
	if len(p.all) >= maxEvents {
		p.cut = cmp.Or(p.cut, e.Number)
		return
	}
	p.all = append(p.all, e)
}

func (p *plan) repeat(e *Event, number int) {
	start, every := e.At, e.Repeat.Every
	for round := 1; p.cut == 0 && (e.Repeat.Times <= 0 || round <= e.Repeat.Times); round++ {
		for k := range e.Repeat.Events {
			inner := &e.Repeat.Events[k]
			p.add(Planned{Event: inner, At: shift(start, inner.At), Place: Place{number, round, k + 1}})
		}
		if start > p.until || every <= 0 || len(e.Repeat.Events) == 0 {
			return
		}
		if e.Repeat.Times <= 0 && start > p.until-every {
			return
		}
		start = shift(start, every)
	}
}

// shift returns a time that is later by after, or the end of time.
func shift(at, after time.Duration) time.Duration {
	if sum := at + max(after, 0); sum >= at {
		return sum
	}
	return math.MaxInt64
}
