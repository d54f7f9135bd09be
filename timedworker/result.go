package timedworker

import (
	"errors"
	"time"
)

// Result is how one try of a piece of work ended. Make one with Done, Retry, RetryAfter, Blocked, Drop
// or Fail; the zero Result is Done.
type Result struct {
	outcome outcome
	after   time.Duration
	err     error
}

type outcome uint8

const (
	done outcome = iota
	retryBackoff
	retryAfter
	blocked
)

// Done ends the work: it succeeded.
func Done() Result { return Result{} }

// Drop ends the work: it is not wanted any more. It differs from Done only for the reader.
func Drop() Result { return Result{} }

// Retry tries again after the backoff, which grows with each failed try.
func Retry() Result { return Result{outcome: retryBackoff} }

// RetryAfter tries again after d, counted as a failed try; d below zero is zero.
func RetryAfter(d time.Duration) Result { return Result{outcome: retryAfter, after: max(d, 0)} }

// Blocked tries again after d because something else does not permit it yet. It is no failure: the
// attempts and the backoff do not grow.
func Blocked(d time.Duration) Result { return Result{outcome: blocked, after: max(d, 0)} }

// Fail is Retry for an error, Done for nil and Drop for one that Final wrapped.
func Fail(err error) Result {
	var f final
	if err == nil || errors.As(err, &f) {
		return Result{err: err}
	}
	return Result{outcome: retryBackoff, err: err}
}

// Err is the error given to Fail, if any.
func (r Result) Err() error { return r.err }

type final struct{ err error }

func (f final) Error() string { return f.err.Error() }
func (f final) Unwrap() error { return f.err }

// Final marks an error that trying again cannot mend. Nil stays nil.
func Final(err error) error {
	if err == nil {
		return nil
	}
	return final{err}
}
