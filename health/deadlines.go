package health

import (
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
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
	return append(errs, absent.Faults(field.NewPath("clock"), c.Clock)...).ToAggregate()
}

// Deadlines says which keys have been silent for their grace period. Most callers want [Deadlines.Beat] first, for each
// sign of life, [Deadlines.Expired] for those that are late, and [Deadlines.Next] for when to ask again. A beat counts
// from the moment of the call, by the given clock. A key's deadline is its last beat plus its grace period; from that
// instant on the key is late.
//
// Silence counts only while the program listens, that is, calls any method but Get, Len, Forget and SetGrace. The time
// between two such calls counts in full if it is at most a quarter of the configured grace period, or at most a fifth
// longer than it was until Next, or if Next was false. A longer gap counts for nothing, or for a quarter of the grace
// period if another such gap began less than two grace periods of counted time before. So a process that was suspended,
// or whose clock jumps from 1970 to 2026, condemns nobody. Call Expired when Next says, or more than four times in a
// grace period.
//
// All methods are safe for concurrent use. Memory is bounded by the tracked keys, and shrinks as they are forgotten. A key
// that cannot be hashed, or does not equal itself (NaN), panics and changes nothing.
type Deadlines[K comparable] struct {
	clock clock.PassiveClock
	grace int64

	mu      sync.Mutex // guards what follows
	listens listening
	beats   beats[K]
	entries due.Map[K, entry[K]]
	frozen  bool
}

// NewDeadlines returns an empty tracker, or an error with all faults of the configuration.
func NewDeadlines[K comparable](config DeadlinesConfig) (*Deadlines[K], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	d := &Deadlines[K]{clock: clockOr(config.Clock), grace: int64(config.Grace)}
	d.listens = newListening(Config{NodeMonitorGracePeriod: config.Grace}, d.promised)
	d.listens.read(d.clock.Now())
	d.listens.started = true
	return d, nil
}

// promised returns the listened time at which the next key is due. d.mu is held.
func (d *Deadlines[K]) promised() int64 {
	if e := d.beats.earliest(); e != nil && !d.frozen {
		return e.due
	}
	return math.MaxInt64
}

// lock takes d.mu and returns the listened time.
func (d *Deadlines[K]) lock() (now int64) {
	if d.clock == nil {
		panic(unmade) //nolint:forbidigo // a bug of the caller's
	}
	reading := d.clock.Now()
	d.mu.Lock()
	if d.listens.time.Late(reading) {
		reading = d.clock.Now()
	}
	return d.listens.read(reading)
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
	// HandedOut: Expired had yielded the key since its previous beat, so what was done about its silence can now be
	// undone.
	HandedOut bool
}

// Beat records a sign of life now. An unknown key is tracked from now on. For a known key it does not allocate, and is
// O(1), or O(log n) if Expired had yielded it.
func (d *Deadlines[K]) Beat(key K) Noted {
	now := d.lock()
	defer d.mu.Unlock()
	e := d.entries.Get(key)
	if e == nil {
		d.track(key, now, d.grace)
		return Noted{}
	}
	noted := Noted{Late: max(0, age(now, e.deadline())), HandedOut: e.isOut()}
	d.beats.put(e, now)
	return noted
}

func (d *Deadlines[K]) track(key K, beat, grace int64) *entry[K] {
	if key != key { //nolint:gocritic // NaN
		panic(fmt.Sprintf("health: the key %v does not equal itself, so it could never be forgotten", key)) //nolint:forbidigo // as for a key that cannot be hashed
	}
	e := d.entries.Add(key)
	e.of, e.grace = key, grace
	d.beats.put(e, beat)
	return e
}

// Track tracks an unknown key, with a first beat in the past: the time at which its object was created, for example, or
// at which somebody else last saw it. The instant may come from another machine: it becomes an age here, and zero or a
// time in the future counts as now. Track does nothing for a tracked key.
func (d *Deadlines[K]) Track(key K, since time.Time) {
	now := d.lock()
	defer d.mu.Unlock()
	if d.entries.Get(key) == nil {
		steadily := d.listens.time.Elapsed()
		ago := age(steadily, plausible(&d.listens.time, since, steadily))
		d.track(key, steady.Sub(now, int64(ago)), d.grace)
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

// Expired yields each key whose deadline has passed, in the order of the deadlines, and each once until its next beat.
// Each loop over it reads the clock once, at its start. No lock is held while the loop body runs, so it may call any
// method. Its cost grows with what expired, plus O(log n) for each key once in a grace period.
func (d *Deadlines[K]) Expired() iter.Seq[K] {
	return func(yield func(K) bool) {
		now := d.lock()
		d.mu.Unlock()
		for {
			key, ok := d.expire(now)
			if !ok || !yield(key) {
				return
			}
		}
	}
}

func (d *Deadlines[K]) expire(at int64) (key K, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.frozen {
		return key, false
	}
	e := d.beats.expire(at)
	if e == nil {
		return key, false
	}
	return e.of, true
}

// Next returns the earliest deadline of the keys that Expired has not yielded since their last beat. It returns false
// if there is none, or during a Freeze. The deadline may lie in the past.
func (d *Deadlines[K]) Next() (time.Time, bool) {
	d.lock()
	defer d.mu.Unlock()
	e := d.beats.earliest()
	if e == nil || d.frozen {
		return time.Time{}, false
	}
	return d.listens.instant(e.due), true
}

// Freeze keeps all keys from expiring until Thaw. It is for an observer that knows that it hears nothing. Beats still
// count.
func (d *Deadlines[K]) Freeze() {
	d.lock()
	defer d.mu.Unlock()
	d.frozen = true
}

// Thaw ends Freeze and restarts the clocks, as Reset does. Without a Freeze it does nothing.
func (d *Deadlines[K]) Thaw() {
	now := d.lock()
	defer d.mu.Unlock()
	if d.frozen {
		d.frozen = false
		d.reset(now)
	}
}

// Reset restarts the clocks, as if each key had a beat now. It is for an observer that could not hear. Keys that
// Expired has yielded stay late, and are not yielded again before their next beat. O(n).
func (d *Deadlines[K]) Reset() {
	now := d.lock()
	defer d.mu.Unlock()
	d.reset(now)
}

func (d *Deadlines[K]) reset(now int64) {
	for _, e := range d.entries.All() {
		if !e.isOut() {
			d.beats.put(e, now)
		}
	}
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

// Status is what is known about one key. Instants are what the clock showed then, as of its last reading.
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
		LastBeat: d.listens.instant(e.beat), Deadline: d.listens.instant(e.deadline()), Grace: time.Duration(e.grace), HandedOut: e.isOut(),
	}, true
}
