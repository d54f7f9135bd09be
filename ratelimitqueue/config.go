package ratelimitqueue

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

// Config configures a Queue. The zero Config is valid: a stopped queue.
type Config struct {
	// Rate is in items a second; 0 hands out nothing until SetRate.
	Rate float64
	// Burst is how many tokens an unused queue saves up, and starts with; 0 means 1.
	Burst int
	// Clock is the real clock when nil. Only Run needs more than Now: a clock.Clock.
	Clock clock.PassiveClock
	// OnDuplicate governs due time and value of a key that is added while it waits.
	OnDuplicate Duplicate
	// Fence, when not nil, is asked when an item is added and again before one is handed out, without any lock
	// held. While it returns an error no new key is taken in (adding answers Fenced; feed it again once the fence
	// is open), nothing is handed out and no token spent; what waits goes on waiting. It is asked again after
	// FenceInterval (0 means 1s) or when Kick is called. Removing is never refused.
	Fence         func() error
	FenceInterval time.Duration
}

// Duplicate says what adding does with a key that waits already.
type Duplicate uint8

// The policies; KeepFirst is the zero value.
const (
	// KeepFirst changes nothing.
	KeepFirst Duplicate = iota
	// KeepEarliest takes time and value of the one due first. The time of a Retry is a due time like any other:
	// what is added to be due earlier hurries an item that backs off, which KeepFirst lets wait.
	KeepEarliest
	// Replace takes the new time and value; the place among equal times is kept.
	Replace
)

// Validate reports every fault at once.
func (c Config) Validate() error {
	errs := validRate(c.Rate, field.NewPath("rate"))
	if c.Burst < 0 {
		errs = append(errs, field.Invalid(field.NewPath("burst"), c.Burst, "must not be negative"))
	}
	if c.FenceInterval < 0 {
		errs = append(errs, field.Invalid(field.NewPath("fenceInterval"), c.FenceInterval.String(), "must not be negative"))
	}
	if c.OnDuplicate > Replace {
		errs = append(errs, field.Invalid(field.NewPath("onDuplicate"), c.OnDuplicate, "must be KeepFirst, KeepEarliest or Replace"))
	}
	return errs.ToAggregate()
}

func validRate(rate float64, path *field.Path) field.ErrorList {
	if math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 {
		return field.ErrorList{field.Invalid(path, rate, "must be a finite number of at least 0")}
	}
	return nil
}

// AddResult says what adding did.
type AddResult uint8

// The results of adding.
const (
	// Added: the key was not known.
	Added AddResult = iota + 1
	// Known: it waits already; Config.OnDuplicate was applied.
	Known
	// InFlight: it is handed out; the value waits for its Retry.
	InFlight
	// Held: it is done and was not removed since; nothing was changed.
	Held
	// Replaced: another identity had the key; it was removed and the new one added.
	Replaced
	// Fenced: Config.Fence does not permit taking in what is not known; another identity was removed.
	Fenced
)

var addNames = [...]string{"", "Added", "Known", "InFlight", "Held", "Replaced", "Fenced"}

// String is the name of the constant.
func (r AddResult) String() string { return name(addNames[:], uint8(r), "AddResult") }

// RemoveResult says what removing did.
type RemoveResult uint8

// The results of removing.
const (
	// Removed: the key waited, or was done, and is forgotten.
	Removed RemoveResult = iota + 1
	// RemovedInFlight: it is handed out; it is forgotten and what its holder says is void.
	RemovedInFlight
	// NotFound: it was not known.
	NotFound
	// OtherIdentity: another identity has the key; nothing was changed.
	OtherIdentity
)

var removeNames = [...]string{"", "Removed", "RemovedInFlight", "NotFound", "OtherIdentity"}

// String is the name of the constant.
func (r RemoveResult) String() string { return name(removeNames[:], uint8(r), "RemoveResult") }

// State is where a known key is.
type State uint8

// The states.
const (
	// StateQueued: it waits.
	StateQueued State = iota + 1
	// StateInFlight: it is handed out.
	StateInFlight
	// StateHeld: it is done, and known until it is removed.
	StateHeld
)

var stateNames = [...]string{"", "Queued", "InFlight", "Held"}

// String is the name of the state.
func (s State) String() string { return name(stateNames[:], uint8(s), "State") }

func name(names []string, n uint8, kind string) string {
	if n == 0 || int(n) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}
