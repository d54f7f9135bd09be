package timedworker

import (
	"fmt"
	"time"
)

// Entry is a piece of work to schedule. Its zero fields are the cautious ones: what waits already is kept, and what
// comes while the work runs is not lost.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when it is to run, at once when it has passed; the zero time means now.
	Due time.Time
	// Identity tells apart what has the same key one after the other (a UID). None never differs, one that is learned
	// late is adopted, and none never erases one.
	Identity string
	// OnDuplicate governs due time and value of a key that waits with the same identity.
	OnDuplicate Duplicate
	// WhileInFlight governs what becomes of the entry while the key's work runs.
	WhileInFlight WhileInFlight
}

// Duplicate says what scheduling does with due time and value of a key that waits already.
type Duplicate uint8

// The policies; KeepFirst is the zero value.
const (
	// KeepFirst changes nothing.
	KeepFirst Duplicate = iota
	// KeepEarliest takes time and value of the one that was to run first. Work that is held back after a try is
	// not hurried by being scheduled again for the same time or a later one.
	KeepEarliest
	// Replace takes the new time and value.
	Replace
)

// WhileInFlight says what scheduling does while the key's work runs. Once that was cancelled, or another identity is
// scheduled, it does not matter any more: what is scheduled then waits for its end, under OnDuplicate.
type WhileInFlight uint8

// The policies; Again is the zero value.
const (
	// Again gives the newest entry a turn of its own, at its time, once the running work is done or dropped. If that
	// is to be tried again, the entry's OnDuplicate chooses between the two, as if it had waited.
	Again WhileInFlight = iota
	// Ignore changes nothing.
	Ignore
)

// keeps says whether the policy leaves work as it is that was asked to run at one time and is scheduled for another.
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
	// Scheduled: the key was not there.
	Scheduled ScheduleResult = iota + 1
	// Moved: it was, and its time or value was replaced.
	Moved
	// Unchanged: it was, and stays as it is (by a policy, or because the time is the same; then the value is the
	// new one where the policy takes it). An identity learned late is adopted all the same.
	Unchanged
	// Queued: it is running; the new work waits for its end, in place of any that did before. If it is another
	// identity's, the running work is not tried again.
	Queued
	// Replaced: work of another identity waited and is dropped.
	Replaced
	// NotPermitted: Config.Permission does not let new work in; work of another identity is dropped.
	NotPermitted
)

var scheduleNames = [...]string{"", "Scheduled", "Moved", "Unchanged", "Queued", "Replaced", "NotPermitted"}

// String is the name of the constant.
func (r ScheduleResult) String() string { return name(scheduleNames[:], uint8(r), "ScheduleResult") }

// CancelResult says what cancelling did.
type CancelResult uint8

// The results of cancelling.
const (
	// Cancelled: the work waited and will not run.
	Cancelled CancelResult = iota + 1
	// Running: it has started. It will not be tried again, and what was queued behind it will not run.
	Running
	// NotFound: nothing is scheduled or running for the key.
	NotFound
	// OtherIdentity: what is there is not what was named; nothing was done.
	OtherIdentity
)

var cancelNames = [...]string{"", "Cancelled", "Running", "NotFound", "OtherIdentity"}

// String is the name of the constant.
func (r CancelResult) String() string { return name(cancelNames[:], uint8(r), "CancelResult") }

func name(names []string, n uint8, kind string) string {
	if n == 0 || int(n) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}
