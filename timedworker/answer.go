package timedworker

import (
	"context"
	"time"
)

// Answer is the result of a last check right before acting: act, do not act, or not yet. Make one with Proceed, Cancel
// or Delay; the zero Answer is Proceed.
type Answer struct {
	kind   answerKind
	after  time.Duration
	reason string
}

type answerKind uint8

const (
	proceed answerKind = iota
	cancel
	delay
)

// Proceed lets the work act.
func Proceed() Answer { return Answer{} }

// Cancel ends the work without acting, because it is no longer wanted. The reason is for logs.
func Cancel(reason string) Answer { return Answer{kind: cancel, reason: reason} }

// Delay keeps the work and checks again after d; a negative d counts as 0. It is no failed try.
func Delay(d time.Duration, reason string) Answer {
	return Answer{kind: delay, after: max(d, 0), reason: reason}
}

// Proceeds reports whether the work may act.
func (a Answer) Proceeds() bool { return a.kind == proceed }

// Reason returns the reason given to Cancel or Delay.
func (a Answer) Reason() string { return a.reason }

// Result returns how a try ends that did not act because of this answer: Drop for Cancel, Blocked for Delay. For
// Proceed it is Done.
func (a Answer) Result() Result {
	switch a.kind {
	case cancel:
		return Drop()
	case delay:
		return Blocked(a.after)
	}
	return Done()
}

// Checked returns a function for New that calls check right before act, at every try: what was decided when the work was
// scheduled may no longer hold.
func Checked[K comparable, V any](check func(context.Context, Work[K, V]) Answer, act func(context.Context, Work[K, V]) Result) func(context.Context, Work[K, V]) Result {
	return func(ctx context.Context, w Work[K, V]) Result {
		if answer := check(ctx, w); !answer.Proceeds() {
			return answer.Result()
		}
		return act(ctx, w)
	}
}
