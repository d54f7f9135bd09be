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

	"github.com/evictkit/evictkit/internal/dueheap"
	"github.com/evictkit/evictkit/internal/keyindex"
	"github.com/evictkit/evictkit/internal/slab"
	"github.com/evictkit/evictkit/internal/steady"
)

// Durations says which keys have had a condition in one status for a time, by rules that hold for all of them, and when
// that next comes true. What was observed last holds until something else is observed: all time counts, also while
// nobody calls. So an observer that could not see observes anew before it asks. It believes what it is shown, also an
// old object; Observation.Stale tells of one. Another object under the same name is another one: have the UID in the
// key, or Forget.
//
// All methods are safe for concurrent use. Each operation that reads the clock has a twin with At in its name that takes
// the reading instead. Memory is bounded by the keys that are tracked and the conditions for which rules ask. A key that
// cannot be hashed panics, as in a map, and changes nothing.
type Durations[K comparable] struct {
	clock   clock.PassiveClock
	rules   []Rule
	watched []watched

	mu       sync.Mutex // guards what follows
	time     steady.Time
	index    keyindex.Index[K] // numbers the entries of observed and due
	observed slab.Slab[observed]
	due      dueheap.Heap // those with a rule to come, by when it does
}

// observed is what is known of a key.
type observed struct {
	seen int64  // when it was last observed
	held []held // how each of the watched conditions stands
}

// held is how a condition stands.
type held struct {
	since  int64
	claim  int64 // the transition that was last claimed, noStamp when none was
	told   int32 // so many of the rules for this status were handed out, the shortest first
	status standing
}

// NewDurations returns an empty tracker, or the faults of the configuration.
func NewDurations[K comparable](config DurationsConfig) (*Durations[K], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return &Durations[K]{clock: clockOr(config.Clock), rules: slices.Clone(config.Rules), watched: watchedBy(config.Rules)}, nil
}

// Observe notes the conditions that a key has now: all of them, for one that is missing has no
// status any more. An unknown key is
// tracked from now on. It returns the rules that Expired had handed out and that hold no longer, or hold anew: whoever
// acted on them can undo it. Nothing of the conditions is kept. O(log n), without allocation for a known key where
// nothing has ended; where nothing has changed O(1).
//
// A status has lasted since the LastTransitionTime that comes with it. That is a claim from another machine: it becomes
// an age once, when it is first seen, and one that is zero or in the future counts as now. Between two observations
// the status has changed if it differs, or if it comes with a transition that differs from the last one, be it
// earlier or later. What has changed did so after the observation before, whatever is claimed: no clock that is wrong
// makes it older than that. An unchanged status keeps the start that is known.
//
// Conditions of other kinds are given as these: Type, Status and LastTransitionTime are all that is looked at.
func (d *Durations[K]) Observe(key K, conditions []v1.NodeCondition) (ended []Rule) {
	return d.ObserveAt(key, conditions, d.clock.Now())
}

// ObserveAt is Observe at a reading of the clock.
func (d *Durations[K]) ObserveAt(key K, conditions []v1.NodeCondition, now time.Time) (ended []Rule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.index.Find(key)
	at := d.time.Read(now)
	if !ok {
		i, _ = d.index.Insert(key)
		d.observed.Use(i).held = make([]held, len(d.watched))
	}
	o, changed := d.observed.At(i), false
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
		d.wait(i, o)
	}
	return ended
}

// wait lets an entry wait for its next rule.
func (d *Durations[K]) wait(i int32, o *observed) {
	if n, due := d.first(o); n < 0 {
		d.due.Remove(i)
	} else {
		d.due.Set(i, due, 0)
	}
}

// first is the condition of which a rule comes true next that was not handed out, or below 0.
func (d *Durations[K]) first(o *observed) (n int, due int64) {
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

// met is when a rule for this status comes true.
func (h *held) met(r Rule) int64 { return steady.Add(h.since, r.For) }

// Expired yields each key with each rule that has come true for it, in the order in which they did, those of one instant
// in any, and each only once until the status changes. The time is read once, at the beginning. Nothing is locked while
// the caller's code runs, which may call any method. It costs O(log n) for each that it yields.
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
	i, due, ok := d.due.Min()
	if !ok || due > at {
		return key, rule, false
	}
	o := d.observed.At(i)
	n, _ := d.first(o)
	h := &o.held[n]
	rule = d.watched[n].rules[h.status][h.told]
	h.told++
	d.wait(i, o)
	return d.index.Key(i), rule, true
}

// Next is when the next rule comes true that Expired has not handed out; false when there is none. It may lie in the
// past.
func (d *Durations[K]) Next() (time.Time, bool) { return d.NextAt(d.clock.Now()) }

// NextAt is Next at a reading of the clock.
func (d *Durations[K]) NextAt(now time.Time) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.time.Read(now) // the clock may have been set since the last one
	_, due, ok := d.due.Min()
	if !ok {
		return time.Time{}, false
	}
	return d.time.Instant(due), true
}

// Lasting is a rule whose status a key has, be it for long enough or not.
type Lasting struct {
	Rule Rule
	// Since is when the status began, as the clock shows it now.
	Since time.Time
	// Left is how much longer it must last; 0 when the rule has come true.
	Left time.Duration
	// HandedOut: Expired has yielded it since.
	HandedOut bool
}

// Get returns the rules whose status the key has, in their order: none for a key that is well, and false for one that
// is not tracked. Who keeps no loop of his own, but is called for a key, asks this after Observe and comes again when
// the least Left is over.
func (d *Durations[K]) Get(key K) ([]Lasting, bool) { return d.GetAt(key, d.clock.Now()) }

// GetAt is Get at a reading of the clock.
func (d *Durations[K]) GetAt(key K, now time.Time) (all []Lasting, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.index.Find(key)
	at := d.time.Read(now)
	if !ok {
		return nil, false
	}
	o := d.observed.At(i)
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

// Forget drops the key and says whether it was tracked.
func (d *Durations[K]) Forget(key K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.index.Find(key)
	if ok {
		d.index.Delete(key)
		d.observed.Free(i)
		d.due.Remove(i)
	}
	return ok
}

// Len is the number of keys. O(1).
func (d *Durations[K]) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.Len()
}
