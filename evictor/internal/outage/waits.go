package outage

import (
	"time"

	"github.com/evictkit/evictkit/timedworker"
)

// Waits says how long to wait after a failure. Its methods call the user's Jitter, so nothing may be locked.
type Waits struct {
	// Probe is how often one write is tried while the API server fails.
	Probe time.Duration

	least                       time.Duration
	refusals, conflicts, probes timedworker.Backoff
}

const (
	maxConflictWait  = 5 * time.Second // bounds the wait after a conflict
	probesWithoutOne = 5 * time.Second // interval of probes if there are no monitor passes
)

// NewWaits returns the Waits of a configuration: first and most bound the waits after a failure, refused is the first wait
// after a refusal, and period is that of monitor passes, 0 for none.
func NewWaits(first, most, refused, period time.Duration, jitter func(time.Duration) time.Duration) Waits {
	until := func(first, most time.Duration) timedworker.Backoff {
		return timedworker.Backoff{Initial: first, Max: most, Factor: 2, Jitter: jitter}
	}
	if period == 0 {
		period = probesWithoutOne
	}
	return Waits{
		Probe: period, least: first, refusals: until(min(refused, most), most), probes: until(period, period),
		conflicts: until(first, max(first, min(most, maxConflictWait))),
	}
}

// UntilProbe returns the time until the next probe, jittered because other programs have lost the same API server.
func (w *Waits) UntilProbe() time.Duration { return max(w.probes.Delay(1, nil), w.least) }

// Refused returns how long to wait after that many refusals in a row that named no time themselves.
func (w *Waits) Refused(times int) time.Duration { return max(w.refusals.Delay(times, nil), w.least) }

// Conflicted returns how long to wait after that many conflicts in a row. The wait is short: a conflict means only that the
// object read was old, which is soon over.
func (w *Waits) Conflicted(times int) time.Duration { return max(w.conflicts.Delay(times, nil), 1) }
