//go:build !thin

package evictor

import (
	"time"

	"github.com/evictkit/evictkit/health"
)

// suspicion is a suspect whose answer is awaited.
type suspicion struct {
	verdict health.Verdict // with its instants as the clock showed them
	asked   bool           // there was an answer, or none in time
	err     error          // of the last question, nil before
	failing bool           // err is the API server's, which did not answer
	silent  bool           // that is the answer, and the next plan concludes from it
}

func (s *suspicion) due() time.Time { return s.verdict.LastBeat.Add(s.verdict.Grace) }

// suspect has the Confirmer asked about a new suspect, and ends the suspicion of a node that is none any more.
func (e *engine) suspect(rec *record, v health.Verdict) {
	s := e.suspects[rec.name]
	switch {
	case !v.Suspect:
		e.unsuspect(rec.name)
		return
	case s == nil:
		s = &suspicion{}
		e.suspects[rec.name] = s
		e.unasked++
	}
	s.verdict = v
	schedule(e.asks, rec, s.due())
}

func (e *engine) unsuspect(name string) {
	if s := e.suspects[name]; s != nil {
		e.asked(s)
		delete(e.suspects, name)
		e.asks.Cancel(name)
		e.tried(task{node: name, ask: true}, 0)
	}
}

// asked notes that the first question about a suspect is over.
func (e *engine) asked(s *suspicion) {
	if !s.asked {
		s.asked = true
		e.unasked--
	}
}

// askedAnew is called when the API server, which did not answer, is back: this question is as good as the first, so that all
// suspects of an outage are concluded about together.
func (e *engine) askedAnew(s *suspicion) {
	if s.asked && !s.silent {
		s.asked = false
		e.unasked++
	}
}

// suspectsAnew is called when the clocks restart: most suspects are none any more.
func (e *engine) suspectsAnew() {
	for name := range e.suspects {
		if v, _ := e.monitor.Verdict(name); !v.Suspect {
			e.unsuspect(name)
		}
	}
}

// concludeAt is when conclude has something to do, if ever. What one pass found is concluded together, so that a zone
// that is lost is not seen as a zone with one failed node, and then with two. But nothing waits longer than
// Config.GateInterval for answers that do not come.
func (e *engine) concludeAt() (at time.Time, some bool) {
	switch {
	case e.awaitsSince.IsZero():
		return at, false
	case e.unasked == 0:
		return e.read, true
	}
	return e.shown(e.awaitsSince.Add(e.cfg.GateInterval)), true
}
