package zone

import (
	"math"
	"time"
)

// Policy decides what the counts of a zone mean, and how fast the zone may be evicted.
//
// A tracker asks about every zone, in order, when a member has changed or an AskAfter has passed. A policy may keep a
// memory of its own, by zone: since when it has been calm, for example. Decide may read the tracker and call Set and
// Remove. It must not call Evaluate.
type Policy interface {
	Decide(Situation) Ruling
}

// PolicyFunc makes a function a Policy.
type PolicyFunc func(Situation) Ruling

// Decide calls f.
func (f PolicyFunc) Decide(s Situation) Ruling { return f(s) }

// Situation is what a policy decides about: one zone at one instant.
type Situation struct {
	// Status is the zone's: State and Rate as the last evaluation left them, Counts as of this one. A policy that
	// enters a state at one threshold and leaves it at another needs State. Counts.Total is 0 if all members are
	// excluded, or none is left.
	Status
	// Cluster counts all zones together. It is for those who stop at a share of the whole, as Karpenter does.
	Cluster Counts
	// Now is the time that Evaluate was given.
	Now time.Time
}

// Ruling is what a policy decides about a zone.
type Ruling struct {
	// State classifies the counts. A value that is none of the constants counts as Initial.
	State State
	// Rate is in members a second; 0 stops. A rate that is negative or not finite counts as 0.
	Rate float64
	// AskAfter is how long after this evaluation the policy wants to be asked again even if no member changes; 0 or less
	// means never. So does one that would end after the 292 years, and that of a zone that is gone. It is for those who
	// wait after a disruption, as node-healthcheck-operator's cooldown does.
	AskAfter time.Duration
}

// valid returns the ruling with every invalid value replaced by a safe one.
func (r Ruling) valid() Ruling {
	switch r.State {
	case Normal, PartialDisruption, FullDisruption:
	default:
		r.State = Initial
	}
	if !validRate(r.Rate) {
		r.Rate = 0
	}
	return r
}

// validRate reports whether a rate is finite and not negative.
func validRate(rate float64) bool { return rate >= 0 && rate <= math.MaxFloat64 }
