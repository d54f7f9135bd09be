package timedworker

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

// Config configures a Set. The zero Config is valid.
type Config struct {
	// Workers bounds how much work Run has in flight; 0 means 8.
	Workers int
	// Clock is the real clock when nil. Step and everything else need only Now; Run also needs timers,
	// that is a clock.Clock.
	Clock clock.PassiveClock
	// Backoff is waited after failed tries.
	Backoff Backoff
	// Fence, when not nil, is asked when work is armed and again before each try, without any lock held. While
	// it returns an error nothing new is armed (Schedule answers Fenced; feed it again once the fence is open)
	// and nothing starts; what is armed stays, may be moved, and waits. It is asked again after FenceInterval
	// (0 means 1s) or when Kick is called. Cancelling is never refused.
	Fence         func() error
	FenceInterval time.Duration
	// OnPanic, when not nil, is told of a panic in a piece of work, which counts as a failed try.
	OnPanic func(key, value any, stack []byte)
}

// Backoff is exponential: Initial after the first failure, then Factor times as long, at most Max.
// Zero fields mean 100ms, 2 and one minute.
type Backoff struct {
	Initial time.Duration
	Factor  float64
	Max     time.Duration
	// Jitter, when not nil, changes each delay, for example to a random part of it. What it returns
	// below zero is zero.
	Jitter func(time.Duration) time.Duration
}

// Validate reports every fault at once.
func (c Config) Validate() error {
	var errs field.ErrorList
	duration := func(name string, d time.Duration) {
		if d < 0 {
			errs = append(errs, field.Invalid(field.NewPath(name), d.String(), "must not be negative"))
		}
	}
	if c.Workers < 0 {
		errs = append(errs, field.Invalid(field.NewPath("workers"), c.Workers, "must not be negative"))
	}
	duration("fenceInterval", c.FenceInterval)
	duration("backoff.initial", c.Backoff.Initial)
	duration("backoff.max", c.Backoff.Max)
	if f := c.Backoff.Factor; math.IsNaN(f) || math.IsInf(f, 0) || f != 0 && f < 1 {
		errs = append(errs, field.Invalid(field.NewPath("backoff.factor"), f, "must be a finite number of at least 1"))
	}
	return errs.ToAggregate()
}

func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = 8
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.FenceInterval == 0 {
		c.FenceInterval = time.Second
	}
	if c.Backoff.Initial == 0 {
		c.Backoff.Initial = 100 * time.Millisecond
	}
	if c.Backoff.Factor == 0 {
		c.Backoff.Factor = 2
	}
	if c.Backoff.Max == 0 {
		c.Backoff.Max = time.Minute
	}
	return c
}

// delay is how long to wait after that many failures.
func (b Backoff) delay(failures int) time.Duration {
	d := float64(b.Initial) * math.Pow(b.Factor, float64(failures-1))
	delay := b.Max
	if d < float64(b.Max) {
		delay = time.Duration(d)
	}
	if b.Jitter != nil {
		delay = max(b.Jitter(delay), 0)
	}
	return delay
}
