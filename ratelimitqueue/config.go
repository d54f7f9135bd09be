package ratelimitqueue

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/backoff"
)

// Rates that are no number of items a second. Both fit into JSON.
const (
	// Unlimited hands out whatever is due.
	Unlimited float64 = math.MaxFloat64
	// Stopped hands out nothing until SetRate.
	Stopped float64 = -1
)

// Backoff is how long Retry and Fail wait: exponentially longer after each failed try. Its zero fields mean 100ms,
// a factor of 2 and at most one minute.
type Backoff = backoff.Backoff

// Config configures a Queue. Only Rate has to be set.
type Config struct {
	// Rate is in items a second, or Unlimited, or Stopped. 0 is a fault: a rate that was forgotten would hand out
	// nothing, and nobody would say so.
	Rate float64
	// Burst is how many tokens an unused queue saves up, and starts with; 0 means 1.
	Burst int
	// Clock is the real clock when nil. Only Run needs more than Now: a clock.Clock.
	Clock clock.PassiveClock
	// Backoff is waited after tries that failed.
	Backoff Backoff
	// Permission, when not nil, is asked when an item is added and again before one is handed out, with nothing
	// locked. While it returns an error nothing new is taken in, no new key and no further turn of one in flight (adding
	// answers NotPermitted; add it again later), nothing is handed out and no token spent; what waits goes on waiting. A panic of it counts as an error. A
	// permission that was refused is asked again after PermissionInterval (0 means 1s) or when Kick is called.
	// Removing is never refused.
	Permission         func() error
	PermissionInterval time.Duration
	// OnError, when not nil, is told the errors given to Fail, and of panics in what Run runs. It is called with
	// nothing locked, after the item has ended.
	OnError func(key any, err error)
	// OnPanic, when not nil, is told of a panic in what Run runs, which counts as a failed try, and in the functions of
	// a configuration; that of Permission has no key.
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
	if c.PermissionInterval < 0 {
		errs = append(errs, field.Invalid(field.NewPath("permissionInterval"), c.PermissionInterval.String(), "must not be negative"))
	}
	return errs
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
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.PermissionInterval == 0 {
		c.PermissionInterval = time.Second
	}
	c.Backoff = c.Backoff.Default()
	return c
}
