package timedworker

import (
	"fmt"
	"time"
)

// Entry is a piece of work to schedule. Its zero policies are the cautious ones: work that waits already is kept, and
// work that comes while the key runs is not lost.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when to run it: at once if that has passed; the zero time means now.
	Due time.Time
	// Identity tells objects apart that have the same key one after the other, such as a UID. An empty one matches any.
	// One that is learned late is adopted, and an empty one does not erase it.
	Identity string
	// OnDuplicate applies if the key waits already with the same identity.
	OnDuplicate Duplicate
	// WhileInFlight applies if the key's work is running.
	WhileInFlight WhileInFlight
}

// Duplicate says which due time and value a waiting key has after it is scheduled again.
type Duplicate uint8

// The values of Duplicate; KeepFirst is the zero value.
const (
	// KeepFirst changes nothing.
	KeepFirst Duplicate = iota
	// KeepEarliest takes due time and value of the entry that asked for the earlier time. The time that was asked for
	// counts, not the one to which a failed try has put the work off: scheduling it again for the same time or a later
	// one does not bring the retry forward.
	KeepEarliest
	// Replace takes the new due time and value. The place among equal due times is kept.
	Replace
)

// WhileInFlight says what scheduling does while the key's work runs. It has no effect once the running work was cancelled
// or the entry has another identity: then the entry waits for the work to end, and OnDuplicate applies between entries
// that wait so.
type WhileInFlight uint8

// The values of WhileInFlight; Again is the zero value.
const (
	// Again gives the newest entry a turn of its own, when it is due, once the running work is done or dropped. If that
	// is retried, the entry's OnDuplicate chooses between the two, as if the work had been waiting.
	Again WhileInFlight = iota
	// Ignore changes nothing.
	Ignore
)

// keeps reports whether the policy keeps work that was asked for at one time when it is scheduled for another, due.
func (d Duplicate) keeps(asked, due int64) bool {
	switch d {
	case Replace:
		return false
	case KeepEarliest:
		return due >= asked
	}
	return true
}

// ScheduleResult says what scheduling did.
type ScheduleResult uint8

// The results of scheduling.
const (
	// Scheduled: the key was not known.
	Scheduled ScheduleResult = iota + 1
	// Moved: the key waits, and has a new due time and value.
	Moved
	// Unchanged: the due time stays as it is, by a policy or because it is the same. In the latter case the value is
	// replaced if the policy says so. An identity that is learned late is adopted in any case.
	Unchanged
	// Queued: the key is running; the new work waits for its end, in place of any that waited so before. If it has
	// another identity, the running work is not tried again.
	Queued
	// Replaced: work of another identity waited; it is dropped and the new work scheduled.
	Replaced
)

var scheduleNames = [...]string{"", "Scheduled", "Moved", "Unchanged", "Queued", "Replaced"}

// String returns the name of the constant.
func (r ScheduleResult) String() string { return name(scheduleNames[:], uint8(r), "ScheduleResult") }

// CancelResult says what cancelling did.
type CancelResult uint8

// The results of cancelling.
const (
	// Cancelled: the work was waiting and will not run.
	Cancelled CancelResult = iota + 1
	// Running: the work has started. It will not be tried again, and work of this identity that was queued behind it
	// will not run.
	Running
	// NotFound: nothing is scheduled or running for the key.
	NotFound
	// OtherIdentity: the key's work has another identity; nothing has changed.
	OtherIdentity
)

var cancelNames = [...]string{"", "Cancelled", "Running", "NotFound", "OtherIdentity"}

// String returns the name of the constant.
func (r CancelResult) String() string { return name(cancelNames[:], uint8(r), "CancelResult") }

func name(names []string, n uint8, kind string) string {
	if n == 0 || int(n) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}
