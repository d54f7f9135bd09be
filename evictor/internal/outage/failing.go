package outage

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Failing says whether a write failed because of the API server: it was not reached, did not answer in time, had an
// internal error or was overloaded. Anything else is an answer about the object: a conflict, a write that is forbidden or
// invalid, a disruption budget, a webhook that refuses or fails. Of joined errors one is enough.
func Failing(err error) bool {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case nil:
		return false
	case apierrors.APIStatus:
		return failing(err, e)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), Failing)
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			return Failing(next)
		}
	}
	return !errors.Is(err, ErrPanic)
}

// ErrPanic is wrapped by the error of a write whose client panicked, which says nothing about the API server.
var ErrPanic = errors.New("panic")

func failing(err error, status apierrors.APIStatus) bool {
	switch code := status.Status().Code; {
	case code == http.StatusTooManyRequests:
		return !apierrors.HasStatusCause(err, "DisruptionBudget") // policyv1.DisruptionBudgetCause
	case code == http.StatusRequestTimeout || apierrors.IsTimeout(err):
		return true
	case code >= http.StatusInternalServerError:
		return !strings.Contains(status.Status().Message, "failed calling webhook")
	}
	return false
}
