package health

import (
	"fmt"
	"iter"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// DeadlinesConfig configures Deadlines.
type DeadlinesConfig struct {
	// Grace is how long a key may stay silent; it must be positive.
	Grace time.Duration
	// MaxGap is how much of the time between two calls counts at most; 0 means a quarter of each key's grace period.
	MaxGap time.Duration
	// Clock is the real clock if nil.
	Clock clock.PassiveClock
}

// Validate reports every fault at once.
func (c DeadlinesConfig) Validate() error {
	var errs faults
	errs.least(1, "grace", c.Grace, "must be greater than 0")
	return errs.with(c.MaxGap, c.Clock)
}

// Deadlines says which keys have been silent for their grace period. Most callers want [Deadlines.Beat] first, for each
// sign of life, [Deadlines.Expired] for those that are late, and [Deadlines.Next] for when to ask again. Who goes
// through a list of keys asks [Deadlines.Get] about each instead.
type Deadlines[K comparable] struct {
	grace   int64
	guard   steady.Guard // guards what follows
	beats   beats[K]     // in time without pauses
	entries due.Map[K, entry[K]]
	paused  bool
	missed  int64 // in all pauses
}

// NewDeadlines returns an empty tracker, or all faults of the configuration.
func NewDeadlines[K comparable](config DeadlinesConfig) (*Deadlines[K], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	d := &Deadlines[K]{grace: int64(config.Grace)}
	d.beats.maxGap, d.guard.Clock = int64(config.MaxGap), clockOr(config.Clock)
	return d, nil
}

// lock takes the mutex and reads the clock. While it is paused, what has passed since the call before is missed.
func (d *Deadlines[K]) lock() {
	now := steady.Sub(d.guard.Read(), d.missed)
	if d.paused {
		d.missed = steady.Add(d.missed, time.Duration(steady.Sub(now, d.beats.now)))
		now = d.beats.now
	}
	d.beats.listen(now)
}

// Status is what is known about one key; zero if it is not tracked.
type Status[K comparable] struct {
	Key K `json:"key"`
	// Silent is for how long the key has been silent, in time that counts.
	Silent time.Duration `json:"silent"`
	Grace  time.Duration `json:"grace"`
	// HandedOut: Expired has yielded the key since its last beat.
	HandedOut bool `json:"handedOut,omitempty"`
}

// Late reports whether the key was silent for its whole grace period.
func (s Status[K]) Late() bool { return s.Grace > 0 && s.Silent >= s.Grace }

// Beat records a sign of life now, and returns what was known before: if HandedOut, undo what you did about the silence.
// An unknown key is tracked from now on. A known one costs O(1), or O(log n) if HandedOut, without allocation.
func (d *Deadlines[K]) Beat(key K) (was Status[K]) {
	d.lock()
	defer d.guard.Unlock()
	e := d.entries.Get(key)
	if was = d.status(e); e == nil {
		e = d.track(key, d.grace)
	}
	d.beats.beatNow(e)
	return was
}

func (d *Deadlines[K]) track(key K, grace int64) *entry[K] {
	if key != key { //nolint:gocritic // NaN
		panic(fmt.Sprintf("health: the key %v does not equal itself, so it could never be forgotten", key)) //nolint:forbidigo // as for a key that cannot be hashed
	}
	e := d.entries.Add(key)
	e.of = key
	d.beats.join(e, grace)
	return e
}

// Track tracks an unknown key, with a first beat in the past, such as the creation of its object. All time since then
// counts as silence, also that of a Pause. Zero, or a time not in the past, is now. Track does nothing for a tracked
// key.
func (d *Deadlines[K]) Track(key K, since time.Time) {
	d.lock()
	defer d.guard.Unlock()
	if d.entries.Get(key) != nil {
		return
	}
	e, ago := d.track(key, d.grace), int64(0)
	if !since.IsZero() {
		ago = max(0, steady.Sub(d.guard.Time.Elapsed(), d.guard.Time.Of(since)))
	}
	d.beats.put(e, steady.Sub(d.beats.heard(e.group), ago))
}

// SetGrace gives a key its own grace period, counted from its last beat; 0 or less means the configured one. What
// counted as silence stays. An unknown key is tracked from now on. One that Expired has yielded stays so. O(log n).
func (d *Deadlines[K]) SetGrace(key K, grace time.Duration) {
	d.lock()
	defer d.guard.Unlock()
	if grace <= 0 {
		grace = time.Duration(d.grace)
	}
	if e := d.entries.Get(key); e != nil {
		d.beats.setGrace(e, int64(grace))
		return
	}
	d.beats.beatNow(d.track(key, int64(grace)))
}

// Expired yields each key whose grace period is over, in the order of their deadlines, and each once until its next
// beat. A loop reads the clock once, at its start; it also yields the keys that are late by a call made meanwhile. Its
// body may call any method. While Deadlines is paused, Expired yields nothing.
func (d *Deadlines[K]) Expired() iter.Seq[K] {
	return func(yield func(K) bool) {
		d.lock()
		for e := d.expire(); e != nil; e = d.expire() {
			key := e.of
			d.guard.Unlock()
			if !yield(key) {
				return
			}
			d.guard.Lock()
		}
		d.guard.Unlock()
	}
}

// expire hands out the entry that is late and has the earliest deadline, or returns nil.
func (d *Deadlines[K]) expire() *entry[K] {
	if d.paused {
		return nil
	}
	return d.beats.expire(d.beats.now)
}

// Next returns when to call Expired: at the next end of a grace period, or at half a MaxGap from now if that is sooner.
// It returns false if Expired has yielded every key, and while Deadlines is paused. The instant may lie in the past.
func (d *Deadlines[K]) Next() (time.Time, bool) {
	d.lock()
	defer d.guard.Unlock()
	at, ok := d.beats.next()
	if !ok || d.paused {
		return time.Time{}, false
	}
	return d.guard.Time.Instant(steady.Add(at, time.Duration(d.missed))), true
}

// Pause stops the time that counts, until Resume. It is for a program that cannot hear now, because its link is down. A
// key that was silent for 30 seconds before is silent for 30 seconds afterwards. Beats are noted meanwhile.
func (d *Deadlines[K]) Pause() {
	d.lock()
	defer d.guard.Unlock()
	d.paused = true
}

// Resume ends a Pause. Without one it does nothing.
func (d *Deadlines[K]) Resume() {
	d.lock()
	defer d.guard.Unlock()
	d.paused = false
}

// Restart begins grace periods anew, as if each key had a beat now. It is for a program that does not expect its keys to
// be heard soon, such as after a broker lost all its sessions. What Expired has yielded stays so. A Pause goes on.
func (d *Deadlines[K]) Restart() {
	d.lock()
	defer d.guard.Unlock()
	for _, e := range d.entries.All() {
		if !e.isOut() {
			d.beats.beatNow(e)
		}
	}
}

// Forget drops the key and reports whether it was tracked.
func (d *Deadlines[K]) Forget(key K) bool {
	d.guard.Lock()
	defer d.guard.Unlock()
	e := d.entries.Get(key)
	if e == nil {
		return false
	}
	d.beats.leave(e)
	d.entries.Delete(key, e)
	return true
}

// Len returns the number of keys.
func (d *Deadlines[K]) Len() int {
	d.guard.Lock()
	defer d.guard.Unlock()
	return d.entries.Len()
}

// Get returns what is known about the key.
func (d *Deadlines[K]) Get(key K) Status[K] {
	d.lock()
	defer d.guard.Unlock()
	return d.status(d.entries.Get(key))
}

func (d *Deadlines[K]) status(e *entry[K]) (s Status[K]) {
	if e == nil {
		return s
	}
	return Status[K]{Key: e.of, Silent: time.Duration(d.beats.silent(e)), Grace: time.Duration(e.group.grace), HandedOut: e.isOut()}
}
