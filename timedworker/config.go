package timedworker

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/backoff"
)

// Config configures a Set. The zero Config is valid. Its functions are called with no lock held and may call the Set.
// Under Run they must be safe for concurrent use.
type Config struct {
	// Workers is the largest number of pieces of work that Run has in flight; 0 means 8.
	Workers int
	// Clock is the real clock if nil. Run needs a clock.Clock, with timers.
	Clock clock.PassiveClock
	// Backoff is how long to wait after a failed try.
	Backoff Backoff
	// OnPanic, if not nil, is called after every panic in the work and in Jitter, with the panic's value. A panic in
	// OnPanic counts in Stats and goes no further.
	OnPanic func(key, value any, stack []byte)
}

// Backoff says how long Retry waits: the duration Initial (0 means 100ms) after the first failed try, then Factor times
// as long after each further one (0 means 2; other factors are finite and at least 1), up to the duration Max (0 means
// one minute). Jitter, a func(time.Duration) time.Duration, changes each delay if it is not nil.
type Backoff = backoff.Backoff

// Validate reports every fault at once.
func (c Config) Validate() error {
	errs := c.Backoff.Validate(field.NewPath("backoff"))
	if c.Workers < 0 {
		errs = append(errs, field.Invalid(field.NewPath("workers"), c.Workers, "must not be negative"))
	}
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...).ToAggregate()
}
