package zone

import (
	"math"
	"time"
)

// Policy decides what the counts of a domain mean, and how fast the domain may be evicted.
//
// It must be a pure function of the Situation: the same situation gets the same ruling. If time alone can change a
// ruling, Ruling.AskAfter says when; until then the ruling must not change. A tracker asks about every domain whenever
// any count has changed, and about a single domain when its AskAfter has passed. Decide may read the tracker and call
// Set and Remove; it must not call Evaluate.
//
// A policy can build on another one: take the ruling of DisruptionPolicy.Decide and make it stricter.
type Policy interface {
	Decide(Situation) Ruling
}

// validate calls the policy's Validate() error method, if it has one.
func validate(p Policy) error {
	if v, ok := p.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// PolicyFunc makes a function a Policy.
type PolicyFunc func(Situation) Ruling

// Decide calls the function.
func (f PolicyFunc) Decide(s Situation) Ruling { return f(s) }

// Situation is what a policy decides about: one domain at one instant. An age starts at 0 with the evaluation that
// first saw the thing it measures. Ages are elapsed time; the package comment says what setting the clock does.
type Situation struct {
	// Counts are the domain's. Total is 0 if all its members are excluded or it has none left.
	Counts Counts
	// Cluster counts all domains together, for policies that stop at a share of the whole.
	Cluster Counts
	// State is what the last evaluation gave the domain, or Initial at the first one; StateFor is how long the domain has
	// had it. A policy that enters a state at one threshold and leaves it at another needs them.
	State    State
	StateFor time.Duration
	// Before is the state that the domain had before State, Initial if there was none.
	Before State
	// BadFor is how long at least one counted member has been bad without a break, 0 if none is.
	BadFor time.Duration
	// Now is the time of the evaluation as the clock shows it. For ages, use the fields above.
	Now time.Time
}

// In tells a policy about the state that it is about to give: how long the domain has already had that state (0 if it
// would enter it with this ruling), and which state came before. From it a policy learns, for example, how long a
// disruption has been over.
func (s Situation) In(state State) (length time.Duration, before State) {
	if state == s.State {
		return s.StateFor, s.Before
	}
	return 0, s.State
}

// Ruling is what a policy decides about a domain.
type Ruling struct {
	// State classifies the counts. A value that is none of the constants counts as Initial.
	State State
	// Rate is in members a second; 0 stops. A rate that is negative or not finite counts as 0. Turns are not saved up: at a
	// rate of 100, they come 10 ms apart.
	Rate float64
	// AskAfter is how long after this evaluation the tracker asks again even if no count changes; 0 or less means never.
	AskAfter time.Duration
}

// valid returns the ruling with every invalid value replaced by a safe one.
func (r Ruling) valid() Ruling {
	if r.State < Initial || r.State > FullDisruption {
		r.State = Initial
	}
	if !validRate(r.Rate) {
		r.Rate = 0
	}
	return r
}

// validRate reports whether a rate is finite and not negative.
func validRate(rate float64) bool { return rate >= 0 && rate <= math.MaxFloat64 }
