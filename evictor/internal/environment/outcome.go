package environment

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/timedworker"
)

// Outcome is what became of a write.
type Outcome uint8

// The outcomes. After NotSent, Conflict and Failed nothing was done.
const (
	NotSent  Outcome = iota
	Conflict         // the object had changed
	Failed           // the API server, or the writer, says that it did nothing
	Unknown          // a lost answer, a time-out, an internal error: it may have been done
	Done
)

// OutcomeOf is the outcome of a write that was sent, by its answer.
func OutcomeOf(err error) Outcome {
	var no *gate.Refused
	switch {
	case err == nil:
		return Done
	case apierrors.IsConflict(err):
		return Conflict
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsNotFound(err), apierrors.IsTooManyRequests(err), errors.As(err, &no):
		return Failed
	}
	return Unknown
}

// Refused returns the refusal that a writer's error is, if it is one: a disruption budget's or an overloaded API server's,
// too.
func (e *Environment) Refused(err error) *gate.Refused {
	var no *gate.Refused
	switch {
	case errors.As(err, &no):
		return no
	case !apierrors.IsTooManyRequests(err):
		return nil
	case apierrors.HasStatusCause(err, "DisruptionBudget"): // policyv1.DisruptionBudgetCause
		no = &gate.Refused{Reason: "DisruptionBudget", Err: err}
	default:
		no = &gate.Refused{Reason: "TooManyRequests", Err: err}
	}
	if seconds, asks := apierrors.SuggestsClientDelay(err); asks && seconds > 0 {
		no.Again = e.Shown(e.Now().Add(time.Duration(seconds) * time.Second))
	}
	return no
}

// RetryNow makes everything due that has failed.
func RetryNow[K comparable, V any](set *timedworker.Set[K, V], now time.Time) {
	for _, is := range set.All() {
		if is.Attempts > 0 {
			set.Schedule(is.Key, is.Value, now)
		}
	}
}
