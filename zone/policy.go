package zone

import (
	"fmt"
	"math"
	"time"
)

// Policy decides what the counts of a domain mean, how fast it may be evicted, and what becomes of
// evictions that are pending there.
//
// It must be a pure function of the Situation: the same one gets the same ruling. Where the passing of
// time alone can change a ruling, Ruling.AskAfter says when, and until then it must not change. A tracker asks
// about every domain whenever any count changed, and about a domain whose AskAfter has passed. It holds no lock
// then that reading the tracker, Set or Remove need; only Evaluate and Restore must not be called from within.
//
// A policy can stand on another one: take the ruling of DisruptionPolicy.Decide and make it stricter.
type Policy interface {
	Decide(Situation) Ruling
}

// PolicyFunc is a function as a Policy.
type PolicyFunc func(Situation) Ruling

// Decide calls the function.
func (f PolicyFunc) Decide(s Situation) Ruling { return f(s) }

// Situation is what a policy is asked about: one domain at one instant. Ages begin with the evaluation that
// first saw what they are the age of, so at that one they are 0. They count elapsed time, whatever is done to the
// wall clock.
type Situation struct {
	// Counts are the domain's; Total is 0 when all its members are excluded, or when it has none any more.
	Counts Counts
	// Cluster counts all domains together, for policies that stop at a share of the whole.
	Cluster Counts
	// State is the one that the last evaluation gave the domain, Initial at the first; StateFor is for how
	// long it has had it. A policy that enters a state at one line and leaves it at another needs them.
	State    State
	StateFor time.Duration
	// Before is the state that it had before that one, Initial when there was none.
	Before State
	// BadFor is for how long at least one counted member has been bad, 0 when none is.
	BadFor time.Duration
	// Now is the evaluation's time as the clock shows it. For ages use those above.
	Now time.Time
}

// In says of the state that a ruling is about to give: for how long the domain has had it, 0 when it enters it with
// this ruling, and which state came before. So a policy knows how long a disruption has been over.
func (s Situation) In(state State) (length time.Duration, before State) {
	if state == s.State {
		return s.StateFor, s.Before
	}
	return 0, s.State
}

// Ruling is what a policy says of a domain.
type Ruling struct {
	// State classifies the counts. What is none of the constants is taken as Initial.
	State State
	// Rate is in members a second; 0 stops, and so does what is no finite number of at least 0.
	Rate float64
	// Pending is what becomes of evictions that were decided before and are still to come. What is none of
	// the constants is taken as Wait.
	Pending Pending
	// AskAfter is when to ask again though no count has changed; 0 and less mean never.
	AskAfter time.Duration
}

// Pending is what becomes of evictions in a domain that were decided before and wait for their time: those of the
// pods on a tainted node, say. They rise in strictness, so that the strictest of several answers is their max.
type Pending uint8

// The answers. The zero value is GoOn.
const (
	// GoOn: they are carried out when their time comes, also at rate 0, which only holds back new ones.
	GoOn Pending = iota
	// Wait: they are kept and not carried out, until it is GoOn again.
	Wait
	// Cancel: they are given up, and so is what led to them: taints of ours are lifted.
	Cancel
)

var pendingNames = [...]string{"GoOn", "Wait", "Cancel"}

// String is the name of the constant.
func (p Pending) String() string {
	if int(p) >= len(pendingNames) {
		return fmt.Sprintf("Pending(%d)", uint8(p))
	}
	return pendingNames[p]
}

// MarshalText writes the name; what is none of the constants is an error.
func (p Pending) MarshalText() ([]byte, error) {
	if int(p) >= len(pendingNames) {
		return nil, fmt.Errorf("zone: %s is no answer about what is pending", p)
	}
	return []byte(pendingNames[p]), nil
}

// UnmarshalText reads what MarshalText wrote. An unknown name is an error and changes nothing.
func (p *Pending) UnmarshalText(text []byte) error {
	for i, name := range pendingNames {
		if name == string(text) {
			*p = Pending(i)
			return nil
		}
	}
	return fmt.Errorf("zone: unknown answer %q about what is pending", text)
}

// valid is the ruling with what a policy must not say replaced by what stops.
func (r Ruling) valid() Ruling {
	if r.State < Initial || r.State > FullDisruption {
		r.State = Initial
	}
	if !validRate(r.Rate) {
		r.Rate = 0
	}
	if r.Pending > Cancel {
		r.Pending = Wait
	}
	return r
}

// validRate says whether a rate is a finite number of at least 0.
func validRate(rate float64) bool { return rate >= 0 && rate <= math.MaxFloat64 }
