package ratelimitqueue

import (
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/backoff"
)

// Special rates, which are not numbers of items a second. Both can be encoded in JSON.
const (
	// Unlimited hands out whatever is due.
	Unlimited float64 = math.MaxFloat64
	// Stopped hands out nothing until SetRate.
	Stopped float64 = -1
)

// Backoff says how long Retry waits: the duration Initial (0 means 100ms) after the first failed try, then Factor times
// as long after each further one (0 means 2; other factors are finite and at least 1), up to the duration Max (0 means
// one minute). Jitter, a func(time.Duration) time.Duration, changes each delay if it is not nil.
type Backoff = backoff.Backoff

// Config configures a Queue. Only Rate is required.
type Config struct {
	// Rate is in items a second, or Unlimited, or Stopped. 0 is an error: a queue whose rate was forgotten would silently
	// hand out nothing.
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
	if c.Rate == 0 {
		errs = append(errs, field.Required(field.NewPath("rate"), "items a second, or Unlimited, or Stopped"))
	}
	errs = append(errs, validRate(c.Rate, field.NewPath("rate"))...)
	errs = append(errs, notNegative(c.Burst, field.NewPath("burst"))...)
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...)
}

func validRate(rate float64, path *field.Path) field.ErrorList {
	if math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 && rate != Stopped {
		return field.ErrorList{field.Invalid(path, rate, "must be a finite number of items a second, Unlimited or Stopped")}
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
	c.Rate = max(c.Rate, 0) // Stopped is 0 from here on
	if c.Burst == 0 {
		c.Burst = 1
	}
	return c
}
