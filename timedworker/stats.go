package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// Stats is what a Set has counted since it was made, and what is in it now.
type Stats struct {
	// Waiting is how many keys wait, Running how many run.
	Waiting, Running int
	// Added counts new work: scheduled, queued or restored. Moving work does not count.
	Added uint64
	// Started counts the tries that have begun.
	Started uint64
	// Done, Dropped, Retried and Blocked count how tries ended. RetryAfter, Fail with a retry and panics count as
	// Retried. Tries of work that was cancelled or replaced while it ran are not counted.
	Done, Dropped, Retried, Blocked uint64
	// Panicked counts panics in the user's functions, including the work.
	Panicked uint64
	// LastLateness is how long after it was due the last try began, and MaxLateness the longest so far, by the clock as
	// it was last read.
	LastLateness, MaxLateness time.Duration
	// Overdue is how long the earliest waiting work has been due, even if it may not start; 0 if nothing is due.
	Overdue time.Duration
	// LastError is the last error of a try or a panic, and LastErrorAt when that was; nil and zero if there was none.
	LastError   error
	LastErrorAt time.Time
}

// Stats returns the current Stats. O(1).
func (s *Set[K, V]) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.counts
	stats.Waiting, stats.Running, stats.Started = s.waiting(), s.running, s.started
	if due, some := s.firstDue(); some {
		stats.Overdue = max(0, time.Duration(steady.Sub(s.time.Elapsed(), due)))
	}
	if stats.LastError != nil {
		stats.LastErrorAt = s.time.Instant(s.erred)
	}
	return stats
}

// seeError notes an error. s.mu is held.
func (s *Set[K, V]) seeError(err error, now int64) { s.counts.LastError, s.erred = err, now }

// seePanic notes the error of a panic.
func (s *Set[K, V]) seePanic(err error) {
	at := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Panicked++
	s.seeError(err, s.tick(at))
}

// count counts how a try ended. s.mu is held.
func (s *Set[K, V]) count(t *try[K, V], now int64) {
	if err := t.result.err; err != nil {
		s.seeError(err, now)
	}
	if t.void {
		return
	}
	switch t.result.outcome {
	case done:
		s.counts.Done++
	case dropped:
		s.counts.Dropped++
	case blocked:
		s.counts.Blocked++
	default:
		s.counts.Retried++
	}
}
