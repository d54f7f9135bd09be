package environment

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/timedworker"
)

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

// AskAgain is how long to wait until the time that a refusal names or, without one, for longer each time. asked is what
// Asked was before the question.
func (e *Environment) AskAgain(no *gate.Refused, times, asked int, backoff timedworker.Backoff) time.Duration {
	if asked != e.Permits.Asked() { // the answer may be older than what Reask was called for
		return 0
	}
	if left := no.Again.Sub(e.Shown(e.Now())); left > 0 {
		return max(left, backoff.Initial)
	}
	return backoff.Delay(max(1, times), nil)
}

// Unknown says whether the API server may have done what it was asked although the answer is an error: a lost answer, a
// time-out, an internal error. These four say that nothing was done.
func Unknown(err error) bool {
	return err != nil && !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err)
}
