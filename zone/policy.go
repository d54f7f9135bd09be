package zone

import (
	"fmt"
	"math"
	"time"
)

// Policy decides what the counts of a domain mean, how fast the domain may be evicted, and what happens to evictions
// that are pending there.
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
	// Pending is what happens to evictions that were decided before and not yet carried out. A value that is none of
	// the constants counts as Wait.
	Pending Pending
	// MaxMarked is for how many silent members the dependents may be out of service at once: the pods of that many silent
	// nodes may be marked not ready, and those of the others wait. 0 and negative values mean no limit.
	MaxMarked int
	// AskAfter is how long after this evaluation the tracker asks again even if no count changes; 0 or less means never.
	AskAfter time.Duration
}

// Pending is what happens to evictions in a domain that were decided before and wait for their deadline: those of the
// pods on a tainted node, for example. It is [GoOn], [Wait] or [Cancel]. Higher values are stricter, so the strictest
// of several is their maximum.
type Pending uint8

// The values of Pending. The zero value is GoOn.
const (
	// GoOn: they are carried out when due, even at rate 0, which only stops new ones.
	GoOn Pending = iota
	// Wait: they stay, but nobody carries them out until the domain is back to GoOn. What is overdue by then is carried out
	// first, member by member at the domain's rate. If members come back one by one, Cancel is safer.
	Wait
	// Cancel: they are dropped, and the taints of ours that led to them are lifted. A member that is still bad needs a new
	// turn, which may come as soon as the domain has a rate again.
	Cancel
)

var pendingNames = [...]string{"GoOn", "Wait", "Cancel"}

// String returns the name of the constant.
func (p Pending) String() string {
	if int(p) >= len(pendingNames) {
		return fmt.Sprintf("Pending(%d)", uint8(p))
	}
	return pendingNames[p]
}

// MarshalText writes the name; a value that is none of the constants is an error.
func (p Pending) MarshalText() ([]byte, error) {
	if int(p) >= len(pendingNames) {
		return nil, fmt.Errorf("zone: %s is not a valid Pending", p)
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
	return fmt.Errorf("zone: unknown Pending %q, want one of %v", text, pendingNames)
}

// valid returns the ruling with every invalid value replaced by a safe one.
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
	r.MaxMarked = max(r.MaxMarked, -1)
	return r
}

// validRate reports whether a rate is finite and not negative.
func validRate(rate float64) bool { return rate >= 0 && rate <= math.MaxFloat64 }
