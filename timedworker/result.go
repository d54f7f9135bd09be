package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Result is how one try of a piece of work ended. Make one with Forget, Retry, RetryAfter or Blocked; the zero Result
// is Forget. It has no effect if the work was cancelled or another identity has taken its key.
type Result struct{ ending slots.Ending }

// Forget ends the work, because it is finished or no longer wanted, and forgets its key. An entry scheduled meanwhile
// gets its turn.
func Forget() Result { return Result{} }

// Retry ends a failed try: the work is tried again after as long as Config.Backoff says. It keeps its place among work
// that is due at the same time. Status shows the error, which may be nil.
func Retry(err error) Result { return Result{slots.Ending{Kind: slots.Retry, Err: err}} }

// RetryAfter is Retry after d instead of the backoff, without an error. A negative d counts as 0.
func RetryAfter(d time.Duration) Result {
	return Result{slots.Ending{Kind: slots.RetryAfter, After: max(d, 0)}}
}

// Blocked tries again after d, because something does not permit the work yet. It is no failure: attempts and backoff
// do not grow. A negative d counts as 0: at once, but not in the same Step.
func Blocked(d time.Duration) Result {
	return Result{slots.Ending{Kind: slots.Blocked, After: max(d, 0)}}
}
