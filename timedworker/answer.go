package timedworker

import (
	"context"
	"time"
)

// Answer is what a last check right before acting says: go on, not at all, or not yet. Make one with
// Proceed, Cancel or Delay; the zero Answer is Proceed.
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

// Cancel ends the work without acting: it is not wanted any more. The reason is for people.
func Cancel(reason string) Answer { return Answer{kind: cancel, reason: reason} }

// Delay keeps the work and checks again after that long, which is no failed try; d below zero is zero.
func Delay(d time.Duration, reason string) Answer {
	return Answer{kind: delay, after: max(d, 0), reason: reason}
}

// Proceeds says whether the work may act.
func (a Answer) Proceeds() bool { return a.kind == proceed }

// Reason is what Cancel or Delay was given.
func (a Answer) Reason() string { return a.reason }

// Result is how a try ends that the answer keeps from acting: Drop for Cancel, Blocked for Delay. That of
// Proceed is Done.
func (a Answer) Result() Result {
	switch a.kind {
	case cancel:
		return Drop()
	case delay:
		return Blocked(a.after)
	}
	return Done()
}

// Checked is a function for New that asks check right before it acts, each time: what was decided when the
// work was scheduled may not be true any more.
func Checked[K comparable, V any](check func(context.Context, Work[K, V]) Answer, act func(context.Context, Work[K, V]) Result) func(context.Context, Work[K, V]) Result {
	return func(ctx context.Context, w Work[K, V]) Result {
		if answer := check(ctx, w); !answer.Proceeds() {
			return answer.Result()
		}
		return act(ctx, w)
	}
}
