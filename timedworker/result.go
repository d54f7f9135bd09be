package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/final"
)

// Result is how one try of a piece of work ended. Make one with Done, Drop, Retry, RetryAfter, Blocked or
// Fail; the zero Result is Done. What the work says is void once it was cancelled or another
// identity has taken its key.
type Result struct {
	outcome outcome
	after   time.Duration
	err     error
}

type outcome uint8

const (
	done outcome = iota
	dropped
	retryBackoff
	retryAfter
	blocked
)

// Done ends the work: it succeeded.
func Done() Result { return Result{} }

// Drop ends the work: it is not wanted any more. It differs from Done in Stats.
func Drop() Result { return Result{outcome: dropped} }

// Retry tries again after Config.Backoff, which grows with each failed try.
func Retry() Result { return Result{outcome: retryBackoff} }

// RetryAfter tries again after d, counted as a failed try; d below zero is zero.
func RetryAfter(d time.Duration) Result { return Result{outcome: retryAfter, after: max(d, 0)} }

// Blocked tries again after d because something else does not permit it yet. It is no failure: the
// attempts and the backoff do not grow. Blocked(0) is tried again at once, but not in the same Step.
func Blocked(d time.Duration) Result { return Result{outcome: blocked, after: max(d, 0)} }

// Fail is Retry for an error, Done for nil and Drop for one that Final wrapped. Config.OnError and Stats show
// the error, and Status while the work waits for its next try.
func Fail(err error) Result {
	switch {
	case err == nil:
		return Done()
	case final.Is(err):
		return Result{outcome: dropped, err: err}
	}
	return Result{outcome: retryBackoff, err: err}
}

// over says whether the work is not to be tried again.
func (r Result) over() bool { return r.outcome <= dropped }

// Final marks an error that trying again cannot mend, for Fail. Nil stays nil.
func Final(err error) error { return final.Mark(err) }
