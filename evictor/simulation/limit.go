package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// Limit is what failed nodes of a zone waited for: the zone's rate in one of its states or, with Held or Refused, something
// that no rate explains. Of the latter there is one Limit for each reason.
type Limit struct {
	State           string        // of the zone; AllZonesDisrupted if every zone was down
	Rate            float64       // nodes a second
	Held            string        // why Options.Hold held them, such as the condition that announces maintenance
	Refused         string        // why the Gate refused their turns, such as a bound of a budget
	From            time.Duration // when the first node began to wait
	Ready, NotReady int           // when the state began
	Waited          time.Duration // for how long at least one node waited
	Most            int           // the most nodes that waited at a time
}

// took counts a time in which so many nodes waited.
func (l *Limit) took(since int64, took time.Duration, nodes int) {
	if nodes == 0 || took <= 0 {
		return
	}
	if l.Waited == 0 {
		l.From = time.Duration(since)
	}
	l.Waited += took
	l.Most = max(l.Most, nodes)
}

// hindrance is why a failed node has no taint of ours, as the evictor tells it: it waits for its turn, is held, its turn is refused,
// or nothing of these.
type hindrance struct {
	queued        bool
	held, refused string
	emptied       bool // without taints
}

// limits are what nodes of a zone wait for.
type limits struct {
	all      []Limit // that are over
	current  Limit   // of the rate
	queued   int     // nodes that wait for the rate
	idle     int     // nodes that have failed, and wait for nothing that is known
	hindered []hindered
	shut     string // why all harm in the zone is refused, or everything
	since    int64  // when any of these last changed
}

// hindered are nodes that wait for the same thing other than the rate.
type hindered struct {
	Limit
	nodes int
}

// by returns the record of such a thing.
func (l *limits) by(held, refused string) *hindered {
	at := slices.IndexFunc(l.hindered, func(h hindered) bool { return h.Held == held && h.Refused == refused })
	if at < 0 {
		at = len(l.hindered)
		l.hindered = append(l.hindered, hindered{Limit: Limit{Held: held, Refused: refused}})
	}
	return &l.hindered[at]
}

// pass accounts for the time since the last change.
func (l *limits) pass(now int64) {
	took, since := time.Duration(now-l.since), l.since
	l.since = now
	switch {
	case l.current.State == timeline.AllZonesDisrupted: // which has cancelled what was queued
		l.current.took(since, took, l.queued+l.idle)
	case l.shut != "":
		l.by("", l.shut).Limit.took(since, took, l.queued+l.by("", l.shut).nodes)
	default:
		l.current.took(since, took, l.queued)
	}
	for i := range l.hindered {
		if h := &l.hindered[i]; l.shut == "" || h.Refused != l.shut {
			h.took(since, took, h.nodes)
		}
	}
}

// waits counts a failed node that has no taint (1), or no longer (-1).
func (l *limits) waits(now int64, of hindrance, by int) {
	l.pass(now)
	switch {
	case of.held != "" || of.refused != "":
		l.by(of.held, of.refused).nodes += by
	case of.queued:
		l.queued += by
	case !of.emptied:
		l.idle += by
	}
}

// enters ends a limit, and starts the next. While every zone is down a zone's own state does not count.
func (l *limits) enters(now int64, next Limit) {
	l.pass(now)
	if l.current.State == timeline.AllZonesDisrupted && next.Rate == 0 && next.From == l.current.From {
		l.current.Ready, l.current.NotReady = next.Ready, next.NotReady
		return
	}
	known := l.current.Ready+l.current.NotReady > 0 // upstream does not report counts and rate of zones
	if l.current.Waited > 0 && (known || l.current.State == timeline.AllZonesDisrupted) {
		l.all = append(l.all, l.current)
	}
	l.current = next
}

// end puts all that is known into all.
func (l *limits) end(now int64) {
	l.enters(now, Limit{})
	for i := range l.hindered {
		if h := &l.hindered[i]; h.Waited > 0 {
			l.all = append(l.all, h.Limit)
		}
	}
	slices.SortStableFunc(l.all, func(a, b Limit) int { return cmp.Compare(a.From, b.From) })
}
