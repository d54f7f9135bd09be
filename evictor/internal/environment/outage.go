package environment

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Outage finds out when a failing API server is back: some failed call is tried every few seconds, whatever its backoff, and
// once the API server answers anything, all are.
type Outage struct {
	mu   sync.Mutex
	down bool
	who  any // the failed work that is tried next, at that time
	next time.Time
}

// probeAfter is how long at most nobody tries to find out.
const probeAfter = 5 * time.Second

// failed returns after how long a failed call is tried again, whose own backoff says so much.
func (o *Outage) failed(who any, now time.Time, backoff time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down = true
	others := o.who != who && o.next.After(now) && !o.next.After(now.Add(probeAfter))
	if !others {
		backoff = min(backoff, probeAfter)
	}
	if at := now.Add(backoff); !others || at.Before(o.next) {
		o.who, o.next = who, at
	}
	return backoff
}

// answered says whether that ends an outage.
func (o *Outage) answered() (ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ended = o.down
	o.down, o.who, o.next = false, nil, time.Time{}
	return ended
}

// Failing says whether a call failed because of the API server: it was not reached, did not answer in time, had an
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
	return !errors.Is(err, errPanic) && !errors.Is(err, ErrEnded)
}

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
