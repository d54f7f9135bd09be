package environment

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/seen"
	"github.com/evictkit/evictkit/timedworker"
)

// Eviction is one try to evict a pod, by either half. Its methods are called with nothing locked.
type Eviction interface {
	// Check reads the pod and its node again. It says whether the pod is to be evicted now, and as what act; if not, when
	// to check again, or 0 if it is over.
	Check() (act gate.Act, wait time.Duration, due bool)
	// Refused says when to try again what is not permitted now.
	Refused(no Refusal) timedworker.Result
	// Tried records the result of the call.
	Tried(err error) timedworker.Result
}

// Refusal is why a pod cannot be evicted now.
type Refusal struct {
	*gate.Refused
	ByWriter bool // and not by the Gate
	Closed   bool // no pod may leave the domain now
	stale    bool // it may be older than what Reask was called for
	now      time.Time
}

// Wait is how long to wait until the time that the refusal names or, without one, for longer each time.
func (r *Refusal) Wait(times int, backoff timedworker.Backoff) time.Duration {
	if r.stale {
		return 0
	}
	if left := r.Again.Sub(r.now); left > 0 {
		return max(left, backoff.Initial)
	}
	return backoff.Delay(max(1, times), nil)
}

// Evict makes one try: check, ask the Gate, check once more, call. If what is to be done has changed meanwhile, the Gate is
// asked anew. Calls about one pod never overlap: if the other half makes one, it waits for busy.
func (e *Environment) Evict(ctx context.Context, pod cluster.PodRef, by Eviction, through cluster.Evicter, busy time.Duration) (result timedworker.Result) {
	defer e.Out.Deliver()
	asked := e.Permits.Asked()
	act, wait, due := by.Check()
	if due {
		if no := e.Permits.MayEvict(ctx, act); no != nil {
			return by.Refused(e.refusal(no, act, asked, false))
		}
		if !e.Evicted.Begin(pod.PodKey) {
			return timedworker.Blocked(busy)
		}
		defer e.Evicted.End(pod.PodKey)
		e.Out.Deliver()
		was := act
		act, wait, due = by.Check() // all that may have taken time
		if no := e.Permits.Closed(act.Domain); due && no != nil {
			return by.Refused(e.refusal(no, act, asked, false))
		} else if due && !same(was, act) {
			return timedworker.Blocked(0)
		}
	}
	switch {
	case !due && wait > 0:
		return timedworker.Blocked(wait)
	case !due:
		return timedworker.Forget()
	}
	err := ErrEnded // and stays so if the client ends the goroutine
	defer func() {
		if no := e.Refused(err); no != nil {
			result = by.Refused(e.refusal(no, act, e.Permits.Asked(), true)) // a Kick meanwhile asked the Gate, not the writer
			return
		}
		if err == nil || apierrors.IsNotFound(err) {
			e.Evicted.Note(pod)
			e.Inbox.Pod(pod.PodKey) // which may have gone meanwhile
		}
		result = by.Tried(err)
	}()
	err = e.Guard(pod.PodKey, func() error { return through.Evict(ctx, pod, act.Why) })
	return result
}

// same says whether the Gate was asked about this act.
func same(asked, act gate.Act) bool {
	was, is := asked.Why.Taint, act.Why.Taint
	return asked.Domain == act.Domain && (was == nil) == (is == nil) && (was == nil || seen.Same(was, is))
}

func (e *Environment) refusal(no *gate.Refused, act gate.Act, asked int, byWriter bool) Refusal {
	return Refusal{no, byWriter, e.Permits.Closed(act.Domain) != nil, asked != e.Permits.Asked(), e.Shown(e.Now())}
}
