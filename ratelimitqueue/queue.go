package ratelimitqueue

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/dueheap"
	"github.com/evictkit/evictkit/internal/keyindex"
)

// Queue holds unique items in the order in which they are due, and hands them out no faster than its
// rate. All methods are safe for concurrent use, also while an item is worked on. Its memory is bounded
// by the keys that were added and not removed: a key that is done is known until Remove.
type Queue[K comparable, V any] struct {
	config Config
	clock  clock.PassiveClock
	base   time.Time

	mu      sync.Mutex // guards what follows; never held while user code runs
	latest  int64      // the clock in nanoseconds since base; it never goes back
	seq     uint32
	index   keyindex.Index[K]
	records []record[V]
	due     dueheap.Heap
	bucket  bucket
	pauses  []string
	fence   error
	fenced  int64 // until when a closed fence is not asked again
	wake    chan struct{}
	waiters map[int32]uint32 // removed while in flight: the generation of the holder that is not done
}

type record[V any] struct {
	value      V
	identity   string
	added      int64
	dueAt      int64
	attempts   int32
	seq        uint32
	generation uint32 // tells the holder of an item from a later one of the same number
	state      State
	newer      bool // a newer value came in flight
}

// Entry is an item to add.
type Entry[K comparable, V any] struct {
	Key   K
	Value V
	// Due is when it may be handed out; the zero time means now.
	Due time.Time
	// Identity tells apart what has the same key one after the other (a UID); empty never differs.
	Identity string
}

// New returns an empty queue with a full bucket, or all faults of the configuration.
func New[K comparable, V any](config Config) (*Queue[K, V], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("ratelimitqueue: %w", err)
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.Burst == 0 {
		config.Burst = 1
	}
	if config.FenceInterval == 0 {
		config.FenceInterval = time.Second
	}
	return &Queue[K, V]{
		config: config, clock: config.Clock, base: config.Clock.Now(),
		bucket: newBucket(config.Rate, config.Burst), wake: make(chan struct{}, 1),
	}, nil
}

func (q *Queue[K, V]) tick(now time.Time) int64 {
	if n := int64(now.Sub(q.base)); n > q.latest {
		q.latest = n
	}
	return q.latest
}

func (q *Queue[K, V]) time(n int64) time.Time { return q.base.Add(time.Duration(n)) }

// Add lets the key wait, due now. See AddEntry.
func (q *Queue[K, V]) Add(key K, value V) AddResult {
	return q.AddEntry(Entry[K, V]{Key: key, Value: value})
}

// AddEntry lets an item wait until it is due and a token is there. It changes nothing that is known by
// the same identity but as Config.OnDuplicate and AddResult say. Another identity takes the place of
// the old one; while the old one's holder is not done the new one waits for it.
func (q *Queue[K, V]) AddEntry(e Entry[K, V]) AddResult {
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.tick(clockNow)
	if q.config.Fence != nil && !q.ask(now) && q.refuse(e.Key, e.Identity) {
		return Fenced
	}
	due := now
	if !e.Due.IsZero() {
		due = int64(e.Due.Sub(q.base))
	}
	i, isNew := q.index.Insert(e.Key)
	if int(i) == len(q.records) {
		q.records = append(q.records, record[V]{})
	}
	r := &q.records[i]
	if isNew || r.state == 0 {
		q.fresh(i, e, now, due)
		return Added
	}
	if differ(r.identity, e.Identity) {
		q.fresh(i, e, now, due)
		return Replaced
	}
	switch r.state {
	case StateInFlight:
		r.value, r.newer = e.Value, true
		return InFlight
	case StateHeld:
		return Held
	}
	if q.config.OnDuplicate == Replace || q.config.OnDuplicate == KeepEarliest && due < r.dueAt {
		r.value, r.dueAt = e.Value, due
		if q.due.Has(i) {
			q.due.Set(i, due, r.seq)
		}
		q.kick()
	}
	return Known
}

// fresh makes the record a new waiting item. If the key's number is still held by an earlier holder,
// the item is not handed out before that one is done.
func (q *Queue[K, V]) fresh(i int32, e Entry[K, V], now, due int64) {
	r := &q.records[i]
	holder, held := q.waiters[i]
	if r.state == StateInFlight {
		holder, held = r.generation, true
	}
	q.seq++
	*r = record[V]{value: e.Value, identity: e.Identity, added: now, dueAt: due, seq: q.seq, generation: r.generation + 1, state: StateQueued}
	if held {
		q.await(i, holder)
		q.due.Remove(i)
		return
	}
	q.due.Set(i, due, r.seq)
	q.kick()
}

// await notes that the number stays taken until that holder is done.
func (q *Queue[K, V]) await(i int32, holder uint32) {
	if q.waiters == nil {
		q.waiters = make(map[int32]uint32)
	}
	q.waiters[i] = holder
}

// ask asks the fence, unless it was closed a moment ago; q.mu is held, but not while it is asked.
func (q *Queue[K, V]) ask(now int64) (open bool) {
	if q.fence != nil && now < q.fenced {
		return false
	}
	q.mu.Unlock()
	err := q.config.Fence()
	q.mu.Lock()
	q.fence, q.fenced = err, now+int64(q.config.FenceInterval)
	return err == nil
}

// refuse says whether adding would take in what is not known yet, which a closed fence does not permit.
// Another identity must not be handed out in its place. q.mu is held.
func (q *Queue[K, V]) refuse(key K, identity string) bool {
	i, ok := q.index.Find(key)
	if !ok || q.records[i].state == 0 {
		return true
	}
	if differ(q.records[i].identity, identity) {
		q.remove(i)
		return true
	}
	return false
}

func differ(a, b string) bool { return a != "" && b != "" && a != b }

func (q *Queue[K, V]) kick() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Item is what Take hands out. Its holder calls Done, Retry or Drop once; nothing is locked meanwhile.
// What a holder says is void when the key was removed, or replaced by another identity, meanwhile.
type Item[K comparable, V any] struct {
	Key      K
	Value    V
	Identity string
	// Added is when it was added, Due when it was due.
	Added, Due time.Time
	// Attempts is how often it was handed out before.
	Attempts int

	queue      *Queue[K, V]
	number     int32
	generation uint32
}

// Take hands out the item that is due first, for one token; false when none is due, there is no token,
// the queue is paused or its fence closed. Equal due times are served in the order of adding. No token
// is spent unless an item is handed out.
func (q *Queue[K, V]) Take() (Item[K, V], bool) {
	clockNow := q.clock.Now()
	q.mu.Lock()
	now := q.tick(clockNow)
	if _, due, ok := q.due.Min(); q.config.Fence != nil && ok && due <= now {
		q.ask(now)
	}
	defer q.mu.Unlock()
	i, due, ok := q.due.Min()
	if !ok || due > now || q.fence != nil || !q.bucket.take(q.time(now)) {
		return Item[K, V]{}, false
	}
	q.due.Remove(i)
	r := &q.records[i]
	r.state = StateInFlight
	r.generation++ // what an earlier holder still says is void
	return Item[K, V]{
		Key: q.index.Key(i), Value: r.value, Identity: r.identity, Added: q.time(r.added), Due: q.time(due), Attempts: int(r.attempts),
		queue: q, number: i, generation: r.generation,
	}, true
}

// finish runs settle if the item is still its holder's, and lets what waited for the holder go on.
func (it Item[K, V]) finish(settle func(*record[V])) {
	q := it.queue
	if q == nil {
		return
	}
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tick(clockNow)
	r := &q.records[it.number]
	if r.generation == it.generation && r.state == StateInFlight {
		settle(r)
		return
	}
	if holder, ok := q.waiters[it.number]; ok && holder == it.generation {
		delete(q.waiters, it.number)
		if r.state == StateQueued {
			q.due.Set(it.number, r.dueAt, r.seq)
			q.kick()
			return
		}
		if r.state == 0 {
			q.forget(it.number)
		}
	}
}

// Done ends the work: the key is known until Remove, and not handed out again.
func (it Item[K, V]) Done() {
	it.finish(func(r *record[V]) { r.state = StateHeld })
}

// Retry lets the item wait again, due after that long, with the newest value that was added meanwhile.
// It keeps its place among items that are due at the same time. The next try costs a token too.
func (it Item[K, V]) Retry(after time.Duration) {
	it.finish(func(r *record[V]) {
		q := it.queue
		r.attempts++
		r.newer = false
		r.state = StateQueued
		r.dueAt = q.latest + int64(max(after, 0))
		if r.dueAt < q.latest {
			r.dueAt = 1<<63 - 1
		}
		q.due.Set(it.number, r.dueAt, r.seq)
		q.kick()
	})
}

// Drop ends the work and forgets the key: it may be added again.
func (it Item[K, V]) Drop() {
	it.finish(func(*record[V]) { it.queue.forget(it.number) })
}

// forget drops the key and its record; a later holder of the number has another generation.
func (q *Queue[K, V]) forget(i int32) {
	q.index.Delete(q.index.Key(i))
	q.records[i] = record[V]{generation: q.records[i].generation + 1}
}

// Remove forgets the key, wherever it is. It passes at any rate, paused or not.
func (q *Queue[K, V]) Remove(key K) RemoveResult { return q.RemoveIdentity(key, "") }

// RemoveIdentity is Remove for one identity only, so that a late event about an old object cannot
// remove the new one.
func (q *Queue[K, V]) RemoveIdentity(key K, identity string) RemoveResult {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, ok := q.index.Find(key)
	if !ok || q.records[i].state == 0 {
		return NotFound
	}
	if differ(q.records[i].identity, identity) {
		return OtherIdentity
	}
	return q.remove(i)
}

// remove forgets a known key; q.mu is held.
func (q *Queue[K, V]) remove(i int32) RemoveResult {
	r := &q.records[i]
	if _, waits := q.waiters[i]; waits || r.state == StateInFlight {
		// The number stays taken until the holder is done, so that a new item of this key waits for it.
		result := Removed
		if r.state == StateInFlight {
			result = RemovedInFlight
			q.await(i, r.generation)
		}
		*r = record[V]{generation: r.generation + 1}
		return result
	}
	q.due.Remove(i)
	q.forget(i)
	return Removed
}
