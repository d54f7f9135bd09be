package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// Recall answers for a gate that the program keeps without asking it, if that can be: harm that a pause or the observer
// refuses, or what the program refused within the interval. If known is false, the program must be asked.
func (g *Gates) Recall(at Gate, now time.Time) (err error, known bool) {
	s := g.at(at)
	if s.stopped() || s.asks() && now.Before(s.until) {
		return s.err(), true
	}
	return nil, false
}

// Answered records the program's answer, see Gate.Named, and returns what the gate now refuses.
func (g *Gates) Answered(at Gate, err error, now time.Time) error {
	if s := g.at(at); s.refused[byProgram] == nil && err == nil {
		return s.err()
	}
	s := g.touch(at)
	s.refused[byProgram], s.until = err, now.Add(g.interval)
	return s.err()
}

// stopped says whether the gate is closed whatever the program says, and asks whether only the program closes it.
func (s *state) stopped() bool { return cmp.Or(s.refused[:byProgram]...) != nil }
func (s *state) asks() bool    { return s.refused[byProgram] != nil && !s.stopped() }

// Expire makes every refusal expire, so that the program is asked again.
func (g *Gates) Expire() {
	for _, s := range g.known {
		s.until = time.Time{}
	}
}

// Refused returns, in order, the domains in which the program refused Harm and should be asked again by now.
func (g *Gates) Refused(now time.Time) (keys []zone.Key) {
	for at, s := range g.known {
		if at.In && s.asks() && !now.Before(s.until) {
			keys = append(keys, at.Domain)
		}
	}
	slices.SortFunc(keys, zone.Key.Compare)
	return keys
}

// Next returns when to ask about a refusal again. It leaves out those that something else refuses too, and may lie in the
// past.
func (g *Gates) Next() (next time.Time, ok bool) {
	everywhere := g.Refusal(harm) == nil
	for at, s := range g.known {
		if s.asks() && (everywhere || !at.In) && (!ok || s.until.Before(next)) {
			next, ok = s.until, true
		}
	}
	return next, ok
}
