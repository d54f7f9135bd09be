package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// Result is how one try of a piece of work ended: [Forget], [Retry] or [Blocked]. The zero Result is Forget. It has no
// effect if the work was cancelled.
type Result struct{ ending slots.Ending }

// Forget ends the work, because it is finished or no longer wanted, and forgets its key. An entry that was scheduled
// meanwhile waits for its own due time.
func Forget() Result { return Result{} }

// Retry ends a failed try. The work is tried again after as long as Config.Backoff says. It keeps its place among work
// that is due at the same time. Status shows the error, which may be nil.
func Retry(err error) Result { return Result{slots.Ending{Kind: slots.Retry, Err: err}} }

// Blocked tries again after d, because something does not permit the work yet. It is no failure: attempts and backoff
// do not grow. A negative d counts as 0, which means at once, but not in the same Step.
func Blocked(d time.Duration) Result {
	return Result{slots.Ending{Kind: slots.Blocked, After: max(d, 0)}}
}
