package timedworker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/slots"
	"github.com/evictkit/evictkit/internal/steady"
)

// ErrRunning is returned by Step and Run while another Step or Run of the same Set is active.
var ErrRunning = errors.New("timedworker: another Step or Run of this Set is active: call one at a time")

// Set holds at most one piece of work per key and runs it when it is due. Most callers want [Set.Schedule] and
// [Set.Cancel] first, which say what they found, and [Set.Run]; or, in a loop of their own, [Set.Step] and [Set.Next].
//
// All methods are safe for concurrent use, also by the work itself. Memory is bounded by the keys that are known, and
// shrinks as they go. A Set must be made by New.
type Set[K comparable, V any] struct {
	function func(context.Context, Work[K, V]) Result
	workers  int

	table  slots.Table[K, V, bool]           // a slot's line says whether it is aside; its Mutex guards the rest
	due    due.Heap[*slots.Slot[K, V, bool]] // what waits
	aside  due.Heap[*slots.Slot[K, V, bool]] // what waits but has run in the active Step already; else empty
	ran    map[K]struct{}                    // the keys that ran in the active Step; else nil
	active bool                              // a Step or Run is active
	armed  int64                             // when Run's timer fires; never if only scheduling something wakes Run
	timer  clock.Timer                       // nil before Run needs one
	idle   int                               // workers of Run that wait for a token
	wake   chan struct{}                     // signals Run to look at what is due next
	tokens chan struct{}                     // each signals one worker to look for work
}

const (
	never     = 1<<63 - 1
	unwatched = -1 << 63 // Run has woken a worker and waits for nothing: workers look for themselves
)

// New returns an empty Set, or an error with all faults of the configuration. It starts no goroutine. Step or Run calls
// the function with each piece of work that is due, never twice at the same time for one key. Its Result says what
// happens to the work.
func New[K comparable, V any](function func(context.Context, Work[K, V]) Result, config Config) (*Set[K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("timedworker: %w", err)
	}
	if function == nil {
		return nil, errors.New("timedworker: New needs a function that does the work, not nil")
	}
	if config.Workers == 0 {
		config.Workers = 8
	}
	s := &Set[K, V]{
		function: function, workers: config.Workers, armed: never,
		wake: make(chan struct{}, 1), tokens: make(chan struct{}, config.Workers),
	}
	s.table.Start(slots.Config{
		Name: "timedworker", Clock: config.Clock, Backoff: config.Backoff, OnPanic: config.OnPanic,
	}, (*order[K, V])(s))
	return s, nil
}

// order is the Set as the owner of its table.
type order[K comparable, V any] Set[K, V]

func (o *order[K, V]) Queue(r *slots.Slot[K, V, bool]) {
	s := (*Set[K, V])(o)
	_, r.Line = s.ran[r.Key]
	s.heap(r).Set(r, &r.Place, r.Due, r.Seq)
	if r.Due < s.armed {
		s.kick()
	}
}

func (o *order[K, V]) Unqueue(r *slots.Slot[K, V, bool]) { (*Set[K, V])(o).heap(r).Remove(&r.Place) }

func (o *order[K, V]) Became(*slots.Slot[K, V, bool], slots.State) {}

// heap returns the heap in which the slot waits, or is to wait.
func (s *Set[K, V]) heap(r *slots.Slot[K, V, bool]) *due.Heap[*slots.Slot[K, V, bool]] {
	if r.Line {
		return &s.aside
	}
	return &s.due
}

func (s *Set[K, V]) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Schedule schedules the key's work for due, as ScheduleEntry does with the other fields zero: work that waits is moved
// and gets the new value.
func (s *Set[K, V]) Schedule(key K, value V, due time.Time) State {
	return s.ScheduleEntry(Entry[K, V]{Key: key, Value: value, Due: due})
}

// ScheduleEntry schedules work, and returns the state that the key was in:
//
//   - Unknown: the work is scheduled.
//   - Waiting or InFlight: the entry's OnDuplicate decides.
//   - OtherIdentity: the work takes the key over. If earlier work of the key is running, the new work waits until that
//     has ended, without effect.
func (s *Set[K, V]) ScheduleEntry(e Entry[K, V]) State {
	now := s.table.Read()
	defer s.table.Unlock()
	return State(s.table.Add(&slots.Entry[K, V]{
		Key: e.Key, Value: e.Value, Due: e.Due, Identity: e.Identity, OnDuplicate: slots.Duplicate(e.OnDuplicate),
	}, false, now))
}

// Cancel forgets the key and returns the state that it was in. If that is InFlight, the work has started and will not
// be tried again; otherwise it will never start.
func (s *Set[K, V]) Cancel(key K) State { return s.CancelIdentity(key, "") }

// CancelIdentity is Cancel for one identity only, so that a late event about a deleted object cannot cancel the work of
// its successor with the same key. For another identity it returns OtherIdentity and changes nothing. An empty identity
// matches any.
func (s *Set[K, V]) CancelIdentity(key K, identity string) State {
	s.table.Lock()
	defer s.table.Unlock()
	return State(s.table.Remove(key, identity))
}

// Clear forgets all work: waiting work will not run, and running work is not tried again. Pauses and Stats stay.
func (s *Set[K, V]) Clear() {
	s.table.Lock()
	defer s.table.Unlock()
	s.due, s.aside = due.Heap[*slots.Slot[K, V, bool]]{}, due.Heap[*slots.Slot[K, V, bool]]{}
	s.table.Clear()
}

// Get returns the status of the key, or false if it is not known.
func (s *Set[K, V]) Get(key K) (Status[V], bool) {
	s.table.Lock()
	defer s.table.Unlock()
	r := s.table.Get(key)
	if r == nil {
		return Status[V]{}, false
	}
	is := s.table.Status(r)
	return Status[V]{State(is.State), is.Value, is.Identity, is.Added, is.Due, is.Attempts, is.LastError}, true
}

// Len returns how many keys wait.
func (s *Set[K, V]) Len() int {
	s.table.Lock()
	defer s.table.Unlock()
	return s.table.Count(slots.Waiting)
}

// Stats returns the current Stats. O(1).
func (s *Set[K, V]) Stats() Stats {
	s.table.Lock()
	defer s.table.Unlock()
	stats := Stats{Waiting: s.table.Count(slots.Waiting), InFlight: s.table.Out(), Panicked: s.table.Panics()}
	if due, some := s.firstDue(); some {
		stats.Overdue = max(0, time.Duration(steady.Sub(s.table.Time.Elapsed(), due)))
	}
	return stats
}

// Pause lets nothing start until Resume is called with the same reason. Several reasons may be in force; the same one
// twice counts once. Running work goes on, and so do scheduling and cancelling; due times stay.
func (s *Set[K, V]) Pause(reason string) {
	s.table.Lock()
	defer s.table.Unlock()
	s.table.Pauses.Add(reason)
}

// Resume ends a Pause with that reason and reports whether there was one.
func (s *Set[K, V]) Resume(reason string) bool {
	s.table.Lock()
	defer s.table.Unlock()
	defer s.kick()
	return s.table.Pauses.Remove(reason)
}

// Paused returns the reasons in force, oldest first.
func (s *Set[K, V]) Paused() []string {
	s.table.Lock()
	defer s.table.Unlock()
	return slices.Clone(s.table.Pauses)
}

// Next returns when work next starts, not before now. It returns false if nothing will start before something is
// scheduled or resumed, or running work ends.
func (s *Set[K, V]) Next() (time.Time, bool) { return s.NextAt(s.table.Now()) }

// NextAt is Next at that reading of the clock. If the reading is older than the last one, NextAt reads the clock again.
func (s *Set[K, V]) NextAt(now time.Time) (time.Time, bool) {
	at := s.table.ReadAt(now)
	defer s.table.Unlock()
	next, ok := s.next()
	if !ok {
		return time.Time{}, false
	}
	return s.table.Instant(max(next, at)), true
}

// next is Next in steady time, but may lie in the past. The lock is held.
func (s *Set[K, V]) next() (int64, bool) {
	if len(s.table.Pauses) > 0 {
		return 0, false
	}
	return s.firstDue()
}

// firstDue returns the earliest due time of what waits, in steady time. The lock is held.
func (s *Set[K, V]) firstDue() (int64, bool) {
	_, due, ok := s.due.Min()
	if _, aside, some := s.aside.Min(); some && (!ok || aside < due) {
		due, ok = aside, true
	}
	return due, ok
}

// Wait returns how long it is until Next, for reconcilers to use as RequeueAfter: at least one nanosecond if work is
// due now or later, and 0 if nothing will start before something is scheduled or resumed.
func (s *Set[K, V]) Wait() time.Duration {
	now := s.table.Read()
	defer s.table.Unlock()
	next, ok := s.next()
	if !ok {
		return 0
	}
	return max(time.Duration(steady.Sub(next, now)), 1)
}
