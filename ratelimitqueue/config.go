package ratelimitqueue

import (
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/backoff"
)

// Unlimited is the rate that hands out whatever is due. It can be encoded in JSON.
const Unlimited float64 = math.MaxFloat64

// Backoff says how long Retry waits: the duration Initial (0 means 100ms) after the first failed try, then Factor times
// as long after each further one (0 means 2; other factors are finite and at least 1), up to the duration Max (0 means
// one minute). Jitter, a func(time.Duration) time.Duration, changes each delay if it is not nil.
type Backoff = backoff.Backoff

// Config configures a Queue. The zero Config is one that hands out nothing until SetRate.
type Config struct {
	// Rate is in items a second, or Unlimited. 0 hands out nothing until SetRate. A negative rate, which means no limit in
	// client-go, is an error.
	Rate float64
	// Burst is how many tokens an idle queue saves up, and how many it starts with; 0 means 1.
	Burst int
	// Clock is the real clock if nil. Run needs a clock.Clock, with timers; all else needs only Now.
	Clock clock.PassiveClock
	// Backoff is how long to wait after a failed try.
	Backoff Backoff
	// OnPanic, if not nil, is called after a panic in the function given to Run, which counts as a failed try, and after a
	// panic in a function of the configuration.
	OnPanic func(key, value any, stack []byte)
}

// Validate reports every fault at once.
func (c Config) Validate() error { return c.faults().ToAggregate() }

func (c Config) faults() field.ErrorList {
	errs := c.Backoff.Validate(field.NewPath("backoff"))
	errs = append(errs, validRate(c.Rate, field.NewPath("rate"))...)
	errs = append(errs, notNegative(c.Burst, field.NewPath("burst"))...)
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...)
}

func validRate(rate float64, path *field.Path) field.ErrorList {
	if math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 {
		return field.ErrorList{field.Invalid(path, rate, "must be a number of items a second, from 0, which stops, to Unlimited")}
	}
	return nil
}

func notNegative(n int, path *field.Path) field.ErrorList {
	if n < 0 {
		return field.ErrorList{field.Invalid(path, n, "must not be negative")}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Burst == 0 {
		c.Burst = 1
	}
	return c
}
