package timedworker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/dueheap"
	"github.com/evictkit/evictkit/internal/keyindex"
	"github.com/evictkit/evictkit/internal/slab"
	"github.com/evictkit/evictkit/internal/steady"
)

// ErrRunning is returned by Step and Run while another Step or Run of the same Set is active.
var ErrRunning = errors.New("timedworker: another Step or Run is active")

// Set holds at most one piece of scheduled work for each key and runs it when it is due. All methods
// are safe for concurrent use, also from inside the work. Its memory follows the keys that are scheduled or
// running.
type Set[K comparable, V any] struct {
	function func(context.Context, Work[K, V]) Result
	config   Config

	mu      sync.Mutex // guards what follows; never held while a function of the user runs
	time    steady.Time
	seq     uint64 // of what was put into a heap last: equal due times are in the order of scheduling
	index   keyindex.Index[K]
	records slab.Slab[record[V]]
	due     dueheap.Heap  // what waits
	aside   dueheap.Heap  // what waits and is not tried again by the Step that is active; else empty
	running []*try[K, V]  // in no order
	started uint64        // how many tries have begun
	counts  Stats         // but for what is counted elsewhere
	erred   int64         // when the last error was seen
	pauses  []string      // reasons, oldest first
	closed  error         // what Permission said when it refused
	opens   int64         // when a closed permission is asked again
	kicks   uint64        // how often Kick was called
	active  bool          // a Step or Run is
	armed   int64         // what Run's timer waits for; never where only what is scheduled wakes it
	timer   clock.Timer   // nil before Run needs one
	idle    int           // workers of Run that wait for a token
	wake    chan struct{} // for Run: look what is due next
	tokens  chan struct{} // for a worker: look for work
}

// record is what belongs to a key. Its number is in due or in aside, or its work runs.
type record[V any] struct {
	identity string
	value    V
	tried    *tried // nil before the first try that did not end the work
	holder   int32  // the place in running of the try plus one; 0: it waits
}

// tried is what tries that did not end the work left behind.
type tried struct {
	asked    int64 // when the work was to run; its turn comes later
	attempts int
	err      error // the last one
}

const (
	never     = 1<<63 - 1
	unwatched = -1 << 63 // Run has roused a worker and waits for nothing: workers look for themselves
)

// New returns an empty Set, or the faults of the configuration. It starts nothing. The function is
// called by Step or Run with what is due, never for one key twice at the same time, and says with its
// Result what becomes of the work.
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

// read is the clock's reading. Readings are taken before the lock, which others need meanwhile.
func (s *Set[K, V]) read() time.Time { return s.config.Clock.Now() }

// tick takes a reading and returns the steady time; s.mu is held. One that is earlier than the last may have been taken
// before it by another goroutine, or somebody has set the clock back: only one taken under the lock tells.
func (s *Set[K, V]) tick(now time.Time) int64 {
	if s.time.Late(now) {
		now = s.read()
	}
	return s.time.Read(now)
}

// asked is when the waiting work of that number was scheduled to run: it may wait longer after a try.
func (s *Set[K, V]) asked(i int32) int64 {
	if t := s.records.At(i).tried; t != nil {
		return t.asked
	}
	return s.heap(i).Due(i)
}

// heap is the one in which the number waits, or is to.
func (s *Set[K, V]) heap(i int32) *dueheap.Heap {
	if s.aside.Len() > 0 && s.aside.Has(i) {
		return &s.aside
	}
	return &s.due
}

// came returns the place of what is scheduled now among equal due times; s.mu is held.
func (s *Set[K, V]) came() uint64 {
	s.seq++
	return s.seq
}

// put lets new work of a number wait; s.mu is held.
func (s *Set[K, V]) put(i int32, r record[V], due int64, seq uint64) {
	*s.records.Use(i) = r
	s.enqueue(i, due, seq)
}

// enqueue puts the number into its heap, or moves it there, and wakes whoever waits for something later.
func (s *Set[K, V]) enqueue(i int32, due int64, seq uint64) {
	s.heap(i).Set(i, due, seq)
	if due < s.armed {
		s.kick()
	}
}

// drop forgets what waits; s.mu is held.
func (s *Set[K, V]) drop(key K, i int32) {
	s.heap(i).Remove(i)
	s.forget(key, i)
}

// forget forgets what does not wait; s.mu is held.
func (s *Set[K, V]) forget(key K, i int32) {
	s.records.Free(i)
	s.index.Delete(key)
}

func (s *Set[K, V]) waiting() int { return s.due.Len() + s.aside.Len() }

func (s *Set[K, V]) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }
