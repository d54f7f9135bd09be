package health

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// Durations says which keys have kept a condition's status for at least a rule's duration, and when the next ones will
// have. The rules apply to all keys. What was observed last holds until something else is observed: all time counts, even while
// nobody calls. So an observer that could not see must Observe every key again before it asks. Durations believes what
// it is shown, even an old object; a Monitor's Observation.Stale detects those. It cannot tell two objects with the same
// key apart: put the UID into the key, or call Forget.
//
// All methods are safe for concurrent use. Each operation that reads the clock has a twin with At in its name, which
// takes the reading as an argument. Memory is bounded by the tracked keys and the conditions that rules ask for. A key
// that cannot be hashed panics, as in a map, and changes nothing.
type Durations[K comparable] struct {
	clock   clock.PassiveClock
	rules   []Rule
	watched []watched

	mu       sync.Mutex // guards what follows
	time     steady.Time
	observed due.Map[K, observed[K]]
	due      due.Heap[*observed[K]] // keys with a rule that may still come true, by when it does
}

// observed is what is known about a key.
type observed[K comparable] struct {
	key   K
	place due.Place
	seen  int64  // when it was last observed
	held  []held // one for each watched condition
}

// held is the state of one condition of a key.
type held struct {
	since  int64
	claim  int64 // the transition time that was last claimed, noStamp if none was
	told   int32 // how many of the rules for this status were handed out, shortest first
	status standing
}

// NewDurations returns an empty tracker, or an error with all faults of the configuration.
func NewDurations[K comparable](config DurationsConfig) (*Durations[K], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return &Durations[K]{clock: clockOr(config.Clock), rules: slices.Clone(config.Rules), watched: watchedBy(config.Rules)}, nil
}

// Observe notes the conditions that a key has now. Pass all of them: a missing one no longer has a status. An unknown key
// is tracked from now on. Observe returns the rules that Expired had handed out and that have ended because their
// condition changed, so that whoever acted on them can undo it. The slice is not kept. O(log n), or O(1) if nothing has
// changed; without allocation for a known key if no rule has ended.
//
// A status has lasted since the LastTransitionTime that comes with it. That is a claim from another machine: it becomes
// an age once, when it is first seen, and zero or a time in the future counts as now. A status has changed between two
// observations if it differs, or if its transition time differs from the last one, earlier or later; a zero transition
// time is not compared. A change happened after the previous observation, whatever is claimed, so a wrong clock cannot
// make it older than that. An unchanged status keeps its known start.
//
// Only Type, Status and LastTransitionTime are read, so conditions of objects that are not nodes can be passed in the
// same form.
func (d *Durations[K]) Observe(key K, conditions []v1.NodeCondition) (ended []Rule) {
	return d.ObserveAt(key, conditions, d.clock.Now())
}

// ObserveAt is Observe at a reading of the clock.
func (d *Durations[K]) ObserveAt(key K, conditions []v1.NodeCondition, now time.Time) (ended []Rule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, changed := d.observed.Get(key), false
	at := d.time.Read(now)
	if o == nil {
		o = d.add(key)
	}
	for n := range d.watched {
		w, h := &d.watched[n], &o.held[n]
		status, claim := w.shown(conditions)
		stamp := int64(noStamp)
		if !claim.IsZero() {
			stamp = claim.UnixNano()
		}
		if status == h.status && (stamp == h.claim || stamp == noStamp) {
			continue
		}
		since := plausible(&d.time, claim, at)
		if h.status != unseen {
			since = max(since, o.seen)
		}
		ended = append(ended, w.rules[h.status][:h.told]...)
		*h, changed = held{since: since, claim: stamp, status: status}, true
	}
	o.seen = at
	if changed {
		d.wait(o)
	}
	return ended
}

func (d *Durations[K]) add(key K) *observed[K] {
	o := d.observed.Add(key)
	o.key, o.held = key, make([]held, len(d.watched))
	return o
}

// wait queues an entry for its next rule, or takes it out of the queue if there is none.
func (d *Durations[K]) wait(o *observed[K]) {
	if n, due := d.first(o); n < 0 {
		d.due.Remove(&o.place)
	} else {
		d.due.Set(o, &o.place, due, 0)
	}
}

// first returns the condition whose next rule, of those not handed out, comes true first, and when; -1 if there is none.
func (d *Durations[K]) first(o *observed[K]) (n int, due int64) {
	n, due = -1, math.MaxInt64
	for i := range o.held {
		h := &o.held[i]
		if rules := d.watched[i].rules[h.status]; int(h.told) < len(rules) {
			if at := h.met(rules[h.told]); n < 0 || at < due {
				n, due = i, at
			}
		}
	}
	return n, due
}

// met returns when a rule for this status comes true.
func (h *held) met(r Rule) int64 { return steady.Add(h.since, r.For) }

// Expired yields each key with each rule that has come true for it, each pair once until the condition changes. They come
// in the order in which they came true; the order within one instant is not defined. The clock is read once, at the
// start. No lock is held while the loop body runs, so it may call any method. O(log n) for each pair.
func (d *Durations[K]) Expired() iter.Seq2[K, Rule] {
	return func(yield func(K, Rule) bool) { d.ExpiredAt(d.clock.Now())(yield) }
}

// ExpiredAt is Expired at a reading of the clock.
func (d *Durations[K]) ExpiredAt(now time.Time) iter.Seq2[K, Rule] {
	return func(yield func(K, Rule) bool) {
		d.mu.Lock()
		at := d.time.Read(now)
		d.mu.Unlock()
		for {
			key, rule, ok := d.expire(at)
			if !ok || !yield(key, rule) {
				return
			}
		}
	}
}

func (d *Durations[K]) expire(at int64) (key K, rule Rule, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o, due, ok := d.due.Min()
	if !ok || due > at {
		return key, rule, false
	}
	n, _ := d.first(o)
	h := &o.held[n]
	rule = d.watched[n].rules[h.status][h.told]
	h.told++
	d.wait(o)
	return o.key, rule, true
}

// Next returns when the next rule comes true that Expired has not yielded; false if there is none. It may lie in the
// past.
func (d *Durations[K]) Next() (time.Time, bool) { return d.NextAt(d.clock.Now()) }

// NextAt is Next at a reading of the clock.
func (d *Durations[K]) NextAt(now time.Time) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.time.Read(now) // the wall clock may have been set since the last reading
	_, due, ok := d.due.Min()
	if !ok {
		return time.Time{}, false
	}
	return d.time.Instant(due), true
}

// Lasting is a rule whose status a key has now, whether or not for long enough.
type Lasting struct {
	Rule Rule
	// Since is when the status began, as the clock shows it now.
	Since time.Time
	// Left is how much longer the status must last; 0 if the rule has come true.
	Left time.Duration
	// HandedOut: Expired has yielded the rule since the status began.
	HandedOut bool
}

// Get returns the rules whose status the key has now, in the order of DurationsConfig.Rules: none for a healthy key, and
// false for one that is not tracked. A reconciler, which is called for one key, calls it after Observe and requeues the
// key after the smallest Left above 0.
func (d *Durations[K]) Get(key K) ([]Lasting, bool) { return d.GetAt(key, d.clock.Now()) }

// GetAt is Get at a reading of the clock.
func (d *Durations[K]) GetAt(key K, now time.Time) (all []Lasting, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.observed.Get(key)
	at := d.time.Read(now)
	if o == nil {
		return nil, false
	}
	for _, r := range d.rules {
		n := indexOf(d.watched, r.Type)
		h := &o.held[n]
		if h.status != standingAsked(r.Status) {
			continue
		}
		all = append(all, Lasting{
			Rule: r, Since: d.time.Instant(h.since), Left: max(0, age(h.met(r), at)),
			HandedOut: upTo(d.watched[n].rules[h.status], r.For) <= int(h.told),
		})
	}
	return all, true
}

// Forget drops the key and reports whether it was tracked.
func (d *Durations[K]) Forget(key K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.observed.Get(key)
	if o == nil {
		return false
	}
	d.due.Remove(&o.place)
	d.observed.Delete(key, o)
	return true
}

// Len returns the number of keys. O(1).
func (d *Durations[K]) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.observed.Len()
}
