package timedworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/slots"
)

var errRunning = errors.New("timedworker: another Step or Run of this Set is active: call one at a time")

// Set holds at most one piece of work per key and runs it when it is due. Most callers want [Set.Schedule] and
// [Set.Cancel] first, which say what they found, and then [Set.Run]. A loop of their own wants [Set.Step] and [Set.Next].
//
// All methods are safe for concurrent use, also by the work itself. Memory is bounded by the keys that are known, and
// shrinks as they go. A Set must be made by New.
type Set[K comparable, V any] struct {
	function func(context.Context, Work[K, V]) Result
	workers  int

	table  slots.Table[K, V, bool]           // a slot's line says whether it is aside; its Mutex guards the rest
	due    due.Heap[*slots.Slot[K, V, bool]] // what waits
	aside  due.Heap[*slots.Slot[K, V, bool]] // what waits but has run in the active Step already; else empty
	ran    map[K]struct{}                    // the keys that ran in the active Step
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

// New returns an empty Set. Its error has all faults of the configuration. It starts no goroutine.
//
// Step or Run calls the function, with its own context, with each piece of work that is due. It is never called twice at
// the same time for one key. Its Result says what happens to the work.
func New[K comparable, V any](function func(context.Context, Work[K, V]) Result, config Config) (*Set[K, V], error) {
	errs := config.faults()
	if function == nil {
		errs = append(errs, field.Required(field.NewPath("function"), "it does the work"))
	}
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("timedworker: %w", err)
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
	if r.Due < s.armed || s.armed > unwatched && s.armed <= s.table.Time.Elapsed() { // that timer is late: its clock was set back
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

// Schedule schedules the key's work for due and returns the state that the key was in. It is ScheduleEntry with Replace:
// work that waits is moved, and gets the new value.
func (s *Set[K, V]) Schedule(key K, value V, due time.Time) State {
	return s.ScheduleEntry(Entry[K, V]{Key: key, Value: value, Due: due})
}

// ScheduleEntry schedules work and returns the state that the key was in. If that is Unknown, the work is scheduled.
// Otherwise the entry's OnDuplicate decides. If a cancelled try of the key is still running, the work waits for its end.
func (s *Set[K, V]) ScheduleEntry(e Entry[K, V]) State {
	now := s.table.Read()
	defer s.table.Unlock()
	return State(s.table.Add(&slots.Entry[K, V]{
		Key: e.Key, Value: e.Value, Due: e.Due, OnDuplicate: e.OnDuplicate.policy(),
	}, false, now))
}

// Cancel forgets the key and returns the state that it was in. If that is InFlight, the work has started and will not
// be tried again. Otherwise it will never start.
func (s *Set[K, V]) Cancel(key K) State {
	s.table.Lock()
	defer s.table.Unlock()
	return State(s.table.Remove(key))
}

// Next returns the due time of what is due first, which may have passed, whether or not a worker is free. It returns false
// if nothing waits, or only keys whose cancelled try still runs. It does not read the clock, but tells the time as of the
// last reading, which is that of ScheduleEntry, Step or Run. That matters only if the clock is set.
func (s *Set[K, V]) Next() (time.Time, bool) {
	s.table.Lock()
	defer s.table.Unlock()
	next, ok := s.next()
	if !ok {
		return time.Time{}, false
	}
	return s.table.Instant(next), true
}

// next is Next in steady time. The lock is held.
func (s *Set[K, V]) next() (int64, bool) {
	_, due, ok := s.due.Min()
	if _, aside, some := s.aside.Min(); some && (!ok || aside < due) {
		due, ok = aside, true
	}
	return due, ok
}
