package outage

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Failing says whether a write failed because of the API server: it was not reached, did not answer in time, has an error of its own
// or too much to do. Anything else is an answer about the object: a conflict, what is forbidden or invalid, a disruption budget, a
// webhook that refuses or fails. Of several errors that are joined one is enough.
func Failing(err error) bool {
	switch e := err.(type) { //nolint:errorlint // the tree is walked here
	case nil:
		return false
	case apierrors.APIStatus:
		return failing(err, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if Failing(one) {
				return true
			}
		}
		return false
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			return Failing(next)
		}
	}
	return !errors.Is(err, ErrPanic)
}

// ErrPanic is wrapped by what a panic of the client is turned into, which says nothing about the API server.
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
