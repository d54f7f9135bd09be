package environment

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/gate"
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
