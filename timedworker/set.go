package timedworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// ErrRunning is returned by Step and Run while another Step or Run of the same Set is active.
var ErrRunning = errors.New("timedworker: another Step or Run is active")

// Set holds at most one piece of scheduled work per key and runs it when it is due. All methods are safe for concurrent
// use, also by the work itself. Memory is bounded by the keys that are scheduled or running, and shrinks as they go. A
// Set must be made by New.
type Set[K comparable, V any] struct {
	function func(context.Context, Work[K, V]) Result
	config   Config

	mu      sync.Mutex // guards the rest; never held while one of the user's functions runs
	time    steady.Time
	seq     uint64 // numbers what is scheduled: the place among equal due times
	records due.Map[K, record[K, V]]
	due     due.Heap[*record[K, V]] // what waits
	aside   due.Heap[*record[K, V]] // what waits but has run in the active Step already; else empty
	running int                     // how many tries run
	started uint64                  // how many tries have begun
	counts  Stats                   // except what is counted elsewhere
	erred   int64                   // when the last error was seen
	pauses  []string                // reasons, oldest first
	active  bool                    // a Step or Run is active
	armed   int64                   // when Run's timer fires; never if only scheduling something wakes Run
	timer   clock.Timer             // nil before Run needs one
	idle    int                     // workers of Run that wait for a token
	wake    chan struct{}           // signals Run to look at what is due next
	tokens  chan struct{}           // each signals one worker to look for work
}

// record is what is kept for a key. It is in due or in aside, or its work runs.
type record[K comparable, V any] struct {
	key K
	task[V]
	try   *try[K, V] // nil while it waits
	place due.Place  // in due or in aside
	aside bool       // which of the two
}

// task is a piece of work as it was scheduled, and what became of it since.
type task[V any] struct {
	identity string
	value    V
	due      int64
	seq      uint64
	tried    *tried // nil before the first try that did not end the work
}

// tried is what remains of tries that did not end the work.
type tried struct {
	asked    int64 // the due time that was asked for, before tries put it off
	attempts int
	err      error // the last one
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
		return nil, errors.New("timedworker: no function to run")
	}
	config = config.withDefaults()
	s := &Set[K, V]{
		function: function, config: config, armed: never,
		wake: make(chan struct{}, 1), tokens: make(chan struct{}, config.Workers),
	}
	s.time.Read(config.Clock.Now())
	return s, nil
}

// read reads the clock. That is done before taking the lock, to hold the lock for a shorter time.
func (s *Set[K, V]) read() time.Time { return s.config.Clock.Now() }

// tick takes a reading and returns the steady time. s.mu is held. If a reading is earlier than the last one, either
// another goroutine has read the clock since, or the clock was set back. Only a reading taken under the lock shows which.
func (s *Set[K, V]) tick(now time.Time) int64 {
	if s.time.Late(now) {
		now = s.read()
	}
	return s.time.Read(now)
}

// asked returns the due time that was asked for; a try may have put the work off since.
func (w *task[V]) asked() int64 {
	if w.tried != nil {
		return w.tried.asked
	}
	return w.due
}

// heap returns the heap in which the record waits, or is to wait.
func (s *Set[K, V]) heap(r *record[K, V]) *due.Heap[*record[K, V]] {
	if r.aside {
		return &s.aside
	}
	return &s.due
}

// came returns the place among equal due times of what is scheduled now. s.mu is held.
func (s *Set[K, V]) came() uint64 {
	s.seq++
	return s.seq
}

// add makes the record of an unknown key. s.mu is held.
func (s *Set[K, V]) add(key K, w task[V]) {
	r := s.records.Add(key)
	r.key, r.task = key, w
	s.counts.Added++
	s.enqueue(r)
}

// enqueue puts the record into its heap, or moves it there, and wakes Run if that waits for something later.
func (s *Set[K, V]) enqueue(r *record[K, V]) {
	s.heap(r).Set(r, &r.place, r.due, r.seq)
	if r.due < s.armed {
		s.kick()
	}
}

// drop forgets waiting work. s.mu is held.
func (s *Set[K, V]) drop(r *record[K, V]) {
	s.heap(r).Remove(&r.place)
	s.records.Delete(r.key, r)
}

func (s *Set[K, V]) waiting() int { return s.due.Len() + s.aside.Len() }

func (s *Set[K, V]) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }
