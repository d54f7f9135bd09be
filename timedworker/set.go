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
)

// ErrRunning is returned by Step and Run while another Step or Run of the same Set is active.
var ErrRunning = errors.New("timedworker: another Step or Run is active")

// Work is one try of a piece of work, as the function given to New sees it.
type Work[K comparable, P any] struct {
	Key      K
	Identity string
	Payload  P
	// Due is when it was to run, at the latest.
	Due time.Time
	// Attempt is how many tries failed before this one.
	Attempt int
}

// Set holds at most one piece of scheduled work for each key and runs it when it is due. All methods
// are safe for concurrent use, also from inside the work. Its memory is bounded by the keys that are
// scheduled or running.
type Set[K comparable, P any] struct {
	fn     func(context.Context, Work[K, P]) Result
	config Config
	base   time.Time

	mu       sync.Mutex // guards what follows; never held while user code runs
	latest   int64      // the clock in nanoseconds since base; it never goes back
	seq      uint32
	index    keyindex.Index[K]
	records  []record[P]
	due      dueheap.Heap
	running  int
	active   bool
	fence    error
	fenced   int64       // until when a closed fence is not asked again
	armed    int64       // what Run's timer waits for; never where only what is scheduled wakes it
	timer    clock.Timer // nil before Run needs one
	idle     int
	wake     chan struct{}
	tokens   chan struct{}
	backlogs map[int32]*backlog[P] // what was scheduled for a key while it runs
}

// record is what belongs to a key. It is in due, or it is running.
type record[P any] struct {
	identity string
	payload  P
	asked    int64 // when it was to run; after a failed try its turn comes later
	attempt  int32
	running  bool
	void     bool // cancelled while running: it is not tried again
}

// backlog waits until the running work of its key has returned.
type backlog[P any] struct {
	identity string
	payload  P
	at       int64
	policy   Duplicate
}

const (
	never     = 1<<63 - 1
	unwatched = -1 << 63 // Run has roused a worker and waits for nothing: workers look for themselves
)

// New returns an empty Set, or the faults of the configuration. It starts nothing. The function is
// called by Step or Run with what is due, never for one key twice at the same time, and says with its
// Result what becomes of the work.
func New[K comparable, P any](fn func(context.Context, Work[K, P]) Result, config Config) (*Set[K, P], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("timedworker: %w", err)
	}
	if fn == nil {
		return nil, errors.New("timedworker: no function to run")
	}
	config = config.withDefaults()
	return &Set[K, P]{
		fn: fn, config: config, base: config.Clock.Now(), armed: never,
		wake: make(chan struct{}, 1), tokens: make(chan struct{}, config.Workers),
	}, nil
}

func (s *Set[K, P]) at(t time.Time) int64   { return int64(t.Sub(s.base)) }
func (s *Set[K, P]) time(n int64) time.Time { return s.base.Add(time.Duration(n)) }
func (s *Set[K, P]) tick(now time.Time) int64 {
	if n := s.at(now); n > s.latest {
		s.latest = n
	}
	return s.latest
}

// Duplicate says what scheduling does with a key that is scheduled already.
type Duplicate uint8

// The policies; Replace is the zero value.
const (
	// Replace takes the new time and payload.
	Replace Duplicate = iota
	// KeepFirst changes nothing.
	KeepFirst
	// KeepEarliest takes time and payload of the one that was to run first. Work that is held back after a try is
	// not hurried by being scheduled again for the same time or a later one.
	KeepEarliest
)

// Entry is a piece of work to schedule.
type Entry[K comparable, P any] struct {
	Key K
	// Identity tells apart what has the same key one after the other (a UID); empty never differs.
	Identity string
	Payload  P
	At       time.Time
	// OnDuplicate governs time and payload of a key that is scheduled with the same identity.
	OnDuplicate Duplicate
}

// ScheduleResult says what scheduling did.
type ScheduleResult uint8

// The results of scheduling.
const (
	// Scheduled: the key was not there.
	Scheduled ScheduleResult = iota + 1
	// Moved: it was, and its time or payload was replaced.
	Moved
	// Unchanged: it was, and stays as it is (by the policy, or because the time is the same; then the
	// payload is the new one).
	Unchanged
	// Queued: it is running; the new work runs after it, in place of anything queued before. If the running work
	// has to be tried again, the policy decides between the two.
	Queued
	// Replaced: work of another identity was there and is dropped.
	Replaced
	// Fenced: Config.Fence does not permit arming what is not armed; work of another identity is dropped.
	Fenced
)

var scheduleNames = [...]string{"", "Scheduled", "Moved", "Unchanged", "Queued", "Replaced", "Fenced"}

// String is the name of the constant.
func (r ScheduleResult) String() string { return name(scheduleNames[:], uint8(r), "ScheduleResult") }

func name(names []string, n uint8, kind string) string {
	if n == 0 || int(n) >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, n)
	}
	return names[n]
}

// Schedule lets the work of the key run at that time, at once when it has passed. Work that is
// scheduled already is moved and gets the new payload.
func (s *Set[K, P]) Schedule(key K, payload P, at time.Time) ScheduleResult {
	return s.ScheduleEntry(Entry[K, P]{Key: key, Payload: payload, At: at})
}

// ScheduleEntry is Schedule with an identity and a policy. An entry whose identity differs from the
// scheduled one's takes its place with no failed tries, whatever the policy.
func (s *Set[K, P]) ScheduleEntry(e Entry[K, P]) ScheduleResult {
	at := s.at(e.At)
	permitted := s.mayArm()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !permitted && s.refuse(e.Key, e.Identity) {
		return Fenced
	}
	i, isNew := s.index.Insert(e.Key)
	if isNew {
		if int(i) == len(s.records) {
			s.records = append(s.records, record[P]{})
		}
		s.records[i] = record[P]{identity: e.Identity, payload: e.Payload, asked: at}
		s.enqueue(i, at)
		return Scheduled
	}
	r := &s.records[i]
	if r.running {
		if s.backlogs == nil {
			s.backlogs = make(map[int32]*backlog[P])
		}
		s.backlogs[i] = &backlog[P]{e.Identity, e.Payload, at, e.OnDuplicate}
		return Queued
	}
	if differ(r.identity, e.Identity) {
		*r = record[P]{identity: e.Identity, payload: e.Payload, asked: at}
		s.enqueue(i, at)
		return Replaced
	}
	if r.keeps(e.OnDuplicate, at) {
		return Unchanged
	}
	if e.Identity != "" {
		r.identity = e.Identity
	}
	r.payload, r.asked = e.Payload, at
	if s.due.Has(i) && at == s.due.Due(i) { // without a due time a Step put it aside, because it ran in it already
		return Unchanged
	}
	s.enqueue(i, at)
	return Moved
}

// keeps says whether the policy leaves the record as it is, when the same work is scheduled again.
func (r *record[P]) keeps(policy Duplicate, at int64) bool {
	return policy == KeepFirst || policy == KeepEarliest && at >= r.asked
}

// refuse says whether scheduling would arm what is not armed yet, which a closed fence does not permit. Work
// of another identity must not run in its place. s.mu is held.
func (s *Set[K, P]) refuse(key K, identity string) bool {
	i, ok := s.index.Find(key)
	if !ok || s.records[i].running {
		return true
	}
	if differ(s.records[i].identity, identity) {
		s.due.Remove(i)
		s.drop(key, i)
		return true
	}
	return false
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

// enqueue puts the record into the heap and wakes whoever waits for something later.
func (s *Set[K, P]) enqueue(i int32, at int64) {
	s.seq++
	s.due.Set(i, at, s.seq)
	if at < s.armed {
		s.kick()
	}
}

func (s *Set[K, P]) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// CancelResult says what cancelling did.
type CancelResult uint8

// The results of cancelling.
const (
	// Cancelled: the work was scheduled and will not run.
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

// Cancel drops the key's work. After it returns, the work either has started already or never will.
func (s *Set[K, P]) Cancel(key K) CancelResult { return s.CancelIdentity(key, "") }

// CancelIdentity is Cancel for one identity only, so that a late event about an old object cannot
// cancel the new one's work. An identity that is only queued behind another's running work is
// Cancelled.
func (s *Set[K, P]) CancelIdentity(key K, identity string) CancelResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index.Find(key)
	if !ok {
		return NotFound
	}
	r := &s.records[i]
	other := differ(r.identity, identity)
	if r.running {
		if b := s.backlogs[i]; b != nil && (!other || !differ(b.identity, identity)) && !(!other && identity != "" && differ(b.identity, identity)) {
			delete(s.backlogs, i)
			if other {
				return Cancelled
			}
		}
		if other {
			return OtherIdentity
		}
		r.void = true
		return Running
	}
	if other {
		return OtherIdentity
	}
	s.due.Remove(i)
	s.drop(key, i)
	return Cancelled
}

func (s *Set[K, P]) drop(key K, i int32) {
	s.records[i] = record[P]{}
	s.index.Delete(key)
}

// claim takes what is due first and marks it running; s.mu is held.
func (s *Set[K, P]) claim(now int64) (i int32, w Work[K, P], ok bool) {
	i, due, ok := s.due.Min()
	if !ok || due > now || s.fence != nil && now < s.fenced {
		return 0, w, false
	}
	s.due.Remove(i)
	r := &s.records[i]
	r.running, r.void = true, false
	s.running++
	return i, Work[K, P]{Key: s.index.Key(i), Identity: r.identity, Payload: r.payload, Due: s.time(due), Attempt: int(r.attempt)}, true
}

// finish ends a try; s.mu is held. What was queued behind the work takes its place, unless the same
// work is to be tried again and its policy keeps that.
func (s *Set[K, P]) finish(i int32, key K, result Result, now int64) {
	r := &s.records[i]
	s.running--
	r.running = false
	over := r.void || result.outcome == done
	if b := s.backlogs[i]; b != nil {
		delete(s.backlogs, i)
		if over || differ(r.identity, b.identity) || !r.keeps(b.policy, b.at) {
			*r = record[P]{identity: b.identity, payload: b.payload, asked: b.at}
			s.enqueue(i, b.at)
			return
		}
	}
	if over {
		s.drop(key, i)
		return
	}
	wait := result.after
	if result.outcome != blocked {
		r.attempt++
	}
	s.enqueue(i, addTo(now, wait))
}

func addTo(now int64, d time.Duration) int64 {
	if sum := now + int64(d); d < 0 || sum >= now {
		return sum
	}
	return never
}
