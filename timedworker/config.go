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
	// Workers is the largest number of pieces of work that Run has in flight. 0 means 8.
	Workers int
	// Clock is the real clock if nil. Run needs a clock.Clock, with timers.
	Clock clock.PassiveClock
	// Backoff is how long to wait after a failed try.
	Backoff Backoff
	// OnPanic, if not nil, is called after every panic in the work and in Jitter, with the panic's value. A panic in
	// OnPanic goes no further. A try ends, and a delay begins, when OnPanic and Jitter have returned. Jitter is also
	// called if the work was cancelled.
	OnPanic func(key, value any, stack []byte)
}

// Backoff says how long Retry waits. After the first failed try that is Initial, a duration. After each further one it is
// Factor times as long. It is never longer than Max, a duration. Jitter, a func(time.Duration) time.Duration, then changes
// each delay if it is not nil, also beyond Max; a negative one counts as 0. 0 means 100ms for Initial, 2 for Factor, and
// one minute for Max. Other factors are finite and at least 1.
type Backoff = backoff.Backoff

func (c *Config) faults() field.ErrorList {
	errs := c.Backoff.Validate(field.NewPath("backoff"))
	if c.Workers < 0 {
		errs = append(errs, field.Invalid(field.NewPath("workers"), c.Workers, "must not be negative"))
	}
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...)
}
