package timedworker

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/backoff"
)

// Config configures a Set. The zero Config is valid. Its functions are called with no lock held and may call the Set; they
// must be safe for concurrent use under Run.
type Config struct {
	// Workers bounds how much work Run has in flight; 0 means 8.
	Workers int
	// Clock is the real clock when nil. Run also needs timers, that is a clock.Clock.
	Clock clock.PassiveClock
	// Backoff is waited after tries that ended with Retry or Fail.
	Backoff Backoff
	// Permission, when not nil, is asked when work is scheduled and again before each try. While it returns an
	// error nothing new is taken in, no new key and no further turn of one whose work runs (scheduling answers
	// NotPermitted; schedule again once it is open), and nothing starts; what waits stays, may be moved, and goes on
	// waiting. It is asked again after PermissionInterval
	// (0 means 1s) or when Kick is called. A panic counts as an error. Cancelling needs no permission.
	Permission         func() error
	PermissionInterval time.Duration
	// OnError, when not nil, is told of each error with which a try failed, also that of a panic.
	OnError func(key any, err error)
	// OnPanic, when not nil, is told of each panic in the work, and in Permission (then the key is nil), Jitter and
	// OnError.
	OnPanic func(key, value any, stack []byte)
}

// Backoff is how long to wait after failed tries: Initial (0 means 100ms) after the first, then Factor (0 means 2)
// times as long, at most Max (0 means one minute). Jitter, when not nil, changes each delay.
type Backoff = backoff.Backoff

// Validate reports every fault at once.
func (c Config) Validate() error {
	errs := c.Backoff.Validate(field.NewPath("backoff"))
	if c.Workers < 0 {
		errs = append(errs, field.Invalid(field.NewPath("workers"), c.Workers, "must not be negative"))
	}
	if c.PermissionInterval < 0 {
		errs = append(errs, field.Invalid(field.NewPath("permissionInterval"), c.PermissionInterval.String(), "must not be negative"))
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
	if c.PermissionInterval == 0 {
		c.PermissionInterval = time.Second
	}
	c.Backoff = c.Backoff.Default()
	return c
}
