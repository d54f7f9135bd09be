package health

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// DeadlinesConfig configures Deadlines.
type DeadlinesConfig struct {
	// Grace is how long a key may stay silent; it must be positive.
	Grace time.Duration
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// Validate reports every fault at once.
func (c DeadlinesConfig) Validate() error {
	var errs field.ErrorList
	if c.Grace <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("grace"), c.Grace.String(), "must be greater than 0"))
	}
	return errs.ToAggregate()
}

// Deadlines says which keys have been silent for their grace period. A beat counts from the moment it is made, by the
// given clock. A key's deadline is its last beat plus its grace; from that instant on it is late. All time counts, even
// while nobody calls: an observer that could not hear calls Reset.
//
// All methods are safe for concurrent use. Each operation that reads the clock has a twin with At in its name, which
// takes the reading as an argument. Memory is bounded by the tracked keys, and shrinks as they are forgotten. A key that
// cannot be hashed panics, as in a map, and changes nothing.
type Deadlines[K comparable] struct {
	clock clock.PassiveClock
	grace int64

	mu      sync.Mutex // guards what follows
	time    steady.Time
	beats   beats[K]
	entries due.Map[K, entry[K]]
}

// NewDeadlines returns an empty tracker, or an error with all faults of the configuration.
func NewDeadlines[K comparable](config DeadlinesConfig) (*Deadlines[K], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	return &Deadlines[K]{clock: clockOr(config.Clock), grace: int64(config.Grace)}, nil
}

func clockOr(c clock.PassiveClock) clock.PassiveClock {
	if c == nil {
		return clock.RealClock{}
	}
	return c
}

// Noted says what a beat ended. It is zero for the first beat of a key.
type Noted struct {
	// Late is how long after the key's deadline the beat came; 0 if it came in time.
	Late time.Duration
	// HandedOut: Expired had yielded the key since its previous beat. Whoever acted on that can undo it now.
	HandedOut bool
}

// Beat records a sign of life now. An unknown key is tracked from now on. For a known key it does not allocate, and is
// O(1), or O(log n) if Expired had yielded it.
func (d *Deadlines[K]) Beat(key K) Noted { return d.BeatAt(key, d.clock.Now()) }

// BeatAt is Beat at a reading of the clock.
func (d *Deadlines[K]) BeatAt(key K, now time.Time) Noted {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries.Get(key)
	at := d.time.Read(now)
	if e == nil {
		d.track(key, at, d.grace)
		return Noted{}
	}
	noted := Noted{Late: max(0, time.Duration(steady.Sub(at, e.deadline()))), HandedOut: e.isOut()}
	d.beats.put(e, at)
	return noted
}

func (d *Deadlines[K]) track(key K, beat, grace int64) *entry[K] {
	e := d.entries.Add(key)
	e.of, e.grace = key, grace
	d.beats.put(e, beat)
	return e
}

// Track tracks an unknown key, with a first beat now.
func (d *Deadlines[K]) Track(key K) { d.TrackAt(key, d.clock.Now()) }

// TrackAt is Track at a reading of the clock.
func (d *Deadlines[K]) TrackAt(key K, now time.Time) { d.TrackSinceAt(key, now, now) }

// TrackSince is Track with a first beat in the past, such as the time when an object was created, or last seen by
// somebody else. The instant may come from another machine: it becomes an age here, and zero or a time in the future
// counts as now. It does nothing for a tracked key.
func (d *Deadlines[K]) TrackSince(key K, since time.Time) {
	d.TrackSinceAt(key, since, d.clock.Now())
}

// TrackSinceAt is TrackSince at a reading of the clock.
func (d *Deadlines[K]) TrackSinceAt(key K, since, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries.Get(key)
	at := d.time.Read(now)
	if e == nil {
		d.track(key, plausible(&d.time, since, at), d.grace)
	}
}

// plausible returns the steady time of an instant that another machine wrote, or now if that cannot be true.
func plausible(t *steady.Time, instant time.Time, now int64) int64 {
	if instant.IsZero() {
		return now
	}
	return min(t.Of(instant), now)
}

// SetGrace gives a tracked key its own grace period, counted from its last beat. It returns false and changes nothing if
// the key is not tracked or the grace is not positive. A key that Expired has yielded is not yielded again before its
// next beat. O(log n).
func (d *Deadlines[K]) SetGrace(key K, grace time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries.Get(key)
	if e == nil || grace <= 0 {
		return false
	}
	d.beats.setGrace(e, int64(grace))
	return true
}

// Expired yields each key whose deadline has passed, in the order of the deadlines, and each once until its next beat or
// Reset. The clock is read once, at the start. No lock is held while the loop body runs, so it may call any method. It
// costs what expired, and O(log n) for each key once in a grace period.
func (d *Deadlines[K]) Expired() iter.Seq[K] {
	return func(yield func(K) bool) { d.ExpiredAt(d.clock.Now())(yield) }
}

// ExpiredAt is Expired at a reading of the clock.
func (d *Deadlines[K]) ExpiredAt(now time.Time) iter.Seq[K] {
	return func(yield func(K) bool) {
		d.mu.Lock()
		at := d.time.Read(now)
		d.mu.Unlock()
		for {
			key, ok := d.expire(at)
			if !ok || !yield(key) {
				return
			}
		}
	}
}

func (d *Deadlines[K]) expire(at int64) (key K, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.beats.expire(at)
	if e == nil {
		return key, false
	}
	return e.of, true
}

// Late is a key whose deadline has passed, and how long ago.
type Late[K comparable] struct {
	Key K
	By  time.Duration
}

// Late returns the keys whose deadline has passed, whether or not Expired has yielded them, the latest first. O(n).
func (d *Deadlines[K]) Late() []Late[K] { return d.LateAt(d.clock.Now()) }

// LateAt is Late at a reading of the clock.
func (d *Deadlines[K]) LateAt(now time.Time) []Late[K] {
	all := d.lateAt(now)
	slices.SortStableFunc(all, func(a, b Late[K]) int { return cmp.Compare(b.By, a.By) })
	return all
}

func (d *Deadlines[K]) lateAt(now time.Time) (all []Late[K]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.time.Read(now)
	for key, e := range d.entries.All() {
		if deadline := e.deadline(); deadline <= at {
			all = append(all, Late[K]{key, time.Duration(steady.Sub(at, deadline))})
		}
	}
	return all
}

// Next returns the earliest deadline of the keys that Expired has not yielded since their last beat; false if there is
// none. It may lie in the past.
func (d *Deadlines[K]) Next() (time.Time, bool) { return d.NextAt(d.clock.Now()) }

// NextAt is Next at a reading of the clock.
func (d *Deadlines[K]) NextAt(now time.Time) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.time.Read(now) // the wall clock may have been set since the last reading
	e := d.beats.earliest()
	if e == nil {
		return time.Time{}, false
	}
	return d.time.Instant(e.due), true
}

// Forget drops the key and reports whether it was tracked.
func (d *Deadlines[K]) Forget(key K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries.Get(key)
	if e == nil {
		return false
	}
	d.beats.remove(e)
	d.entries.Delete(key, e)
	return true
}

// Len returns the number of keys. O(1).
func (d *Deadlines[K]) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entries.Len()
}

// Status is what is known about one key. Instants are given as the clock showed them when it was last read.
type Status struct {
	LastBeat, Deadline time.Time
	Grace              time.Duration
	// HandedOut: Expired has yielded it since its last beat.
	HandedOut bool
}

// Get returns what is known about the key, and false if it is not tracked.
func (d *Deadlines[K]) Get(key K) (Status, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries.Get(key)
	if e == nil {
		return Status{}, false
	}
	return Status{
		LastBeat: d.time.Instant(e.beat), Deadline: d.time.Instant(e.deadline()), Grace: time.Duration(e.grace), HandedOut: e.isOut(),
	}, true
}

// Reset starts the clock of every key again, as if each had a beat now. It is for an observer that could not hear. O(n).
func (d *Deadlines[K]) Reset() { d.ResetAt(d.clock.Now()) }

// ResetAt is Reset at a reading of the clock.
func (d *Deadlines[K]) ResetAt(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.time.Read(now)
	for _, e := range d.entries.All() {
		d.beats.put(e, at)
	}
}
