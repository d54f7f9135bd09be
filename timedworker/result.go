package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/backoff"
)

// Result is how one try of a piece of work ended. Make one with Done, Drop, Retry, RetryAfter, Blocked or Fail; the zero
// Result is Done. It has no effect if the work was cancelled or another identity has taken its key.
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

// Done ends the work because it succeeded.
func Done() Result { return Result{} }

// Drop ends the work because it is no longer wanted. It differs from Done only in Stats.
func Drop() Result { return Result{outcome: dropped} }

// Retry tries again after Config.Backoff, which grows with each failed try.
func Retry() Result { return Result{outcome: retryBackoff} }

// RetryAfter tries again after d and counts as a failed try. A negative d counts as 0.
func RetryAfter(d time.Duration) Result { return Result{outcome: retryAfter, after: max(d, 0)} }

// Blocked tries again after d, because something does not permit the work yet. It is no failure: attempts and backoff do
// not grow. A negative d counts as 0. Blocked(0) means "retry now", but not in the same Step.
func Blocked(d time.Duration) Result { return Result{outcome: blocked, after: max(d, 0)} }

// Fail is Done for nil, Drop for an error marked by Final, and Retry for any other error. Config.OnError is called with
// the error, and Stats shows it; Status shows it while the work waits for its next try.
func Fail(err error) Result {
	switch {
	case err == nil:
		return Done()
	case backoff.IsFinal(err):
		return Result{outcome: dropped, err: err}
	}
	return Result{outcome: retryBackoff, err: err}
}

// over reports whether the work is not to be tried again.
func (r Result) over() bool { return r.outcome <= dropped }

// Final marks an error, for Fail, that retrying cannot fix. Nil stays nil.
func Final(err error) error { return backoff.Final(err) }
