// Package backoff says how long to wait after failed tries.
package backoff

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Backoff is exponential: Initial after the first failure, then Factor times as long each time, up to Max. Zero fields
// mean 100ms, 2 and one minute.
type Backoff struct {
	Initial time.Duration // at least 0
	Factor  float64       // 0, or finite and at least 1
	Max     time.Duration // at least 0; if it is less than Initial, it is every delay
	// Jitter, if not nil, changes each delay, for example to a random part of it. A negative result counts as 0. Whoever backs
	// off may hold a lock. If it panics, the delay stays as it was.
	Jitter func(time.Duration) time.Duration
}

// Validate reports every fault at once.
func (b Backoff) Validate(path *field.Path) (errs field.ErrorList) {
	duration := func(name string, d time.Duration) {
		if d < 0 {
			errs = append(errs, field.Invalid(path.Child(name), d.String(), "must not be negative"))
		}
	}
	duration("initial", b.Initial)
	duration("max", b.Max)
	if f := b.Factor; math.IsNaN(f) || math.IsInf(f, 0) || f != 0 && f < 1 {
		errs = append(errs, field.Invalid(path.Child("factor"), f, "must be a finite number of at least 1"))
	}
	return errs
}

// Default returns the backoff with zero fields replaced by the defaults.
func (b Backoff) Default() Backoff {
	if b.Initial == 0 {
		b.Initial = 100 * time.Millisecond
	}
	if b.Factor == 0 {
		b.Factor = 2
	}
	if b.Max == 0 {
		b.Max = time.Minute
	}
	return b
}

// Delay returns how long to wait after that many failures, at least one. The fields must not be zero: see Default. If
// Jitter panics, panicked is called with the value, unless it is nil.
func (b Backoff) Delay(failures int, panicked func(value any)) (delay time.Duration) {
	delay = b.Max
	if d := float64(b.Initial) * math.Pow(b.Factor, float64(failures-1)); d < float64(b.Max) {
		delay = time.Duration(d)
	}
	if b.Jitter == nil {
		return delay
	}
	defer func() {
		if value := recover(); value != nil && panicked != nil {
			panicked(value)
		}
	}()
	return max(b.Jitter(delay), 0)
}
