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

	"github.com/evictkit/evictkit/internal/keyindex"
)

// DeadlinesConfig configures Deadlines.
type DeadlinesConfig struct {
	// Grace is how long a key may stay silent; it must be positive.
	Grace time.Duration
	// Clock is the real clock when nil.
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

// Deadlines says which keys have been silent for their grace period. A beat counts when it is made, by
// the clock given; a key is expired from its last beat plus its grace on. All methods are safe for
// concurrent use. Memory is bounded by the keys that had a beat and were not forgotten.
type Deadlines[K comparable] struct {
	mu    sync.Mutex // guards what follows
	time  steady
	grace int16
	beats beats
	index keyindex.Index[K] // numbers the entries of beats
}

// NewDeadlines returns an empty tracker, or the faults of the configuration.
func NewDeadlines[K comparable](config DeadlinesConfig) (*Deadlines[K], error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	d := &Deadlines[K]{time: newSteady(config.Clock)}
	d.grace = d.beats.listOf(int64(config.Grace))
	return d, nil
}

// Beat records a sign of life now. An unknown key is tracked from now on. O(1), without allocation
// for a known key.
func (d *Deadlines[K]) Beat(key K) { d.BeatAt(key, d.time.clock.Now()) }

// BeatAt is Beat with the time already read from the clock. One that is before another call's counts
// as that call's: no time passes backwards.
func (d *Deadlines[K]) BeatAt(key K, now time.Time) {
	d.mu.Lock()
	i, ok := d.index.Find(key)
	if !ok {
		i = d.track(key)
	}
	d.beat(i, now)
	d.mu.Unlock()
}

func (d *Deadlines[K]) beat(i int32, now time.Time) {
	d.beats.put(i, d.beats.entries[i].list, d.time.at(now))
}

func (d *Deadlines[K]) track(key K) int32 {
	i, _ := d.index.Insert(key)
	d.beats.add(i)
	d.beats.entries[i].list = d.grace
	return i
}

// Handle names a tracked key without a look-up. It is valid until the key is forgotten; using it
// afterwards beats for nobody or for the key that took its place, so forget last.
type Handle int32

// Track returns the key's handle. An unknown key is tracked, with a first beat now.
func (d *Deadlines[K]) Track(key K) Handle {
	now := d.time.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.index.Find(key)
	if !ok {
		i = d.track(key)
		d.beat(i, now)
	}
	return Handle(i)
}

// BeatHandle is BeatAt by handle.
func (d *Deadlines[K]) BeatHandle(h Handle, now time.Time) {
	d.mu.Lock()
	if h >= 0 && int(h) < len(d.beats.entries) && d.beats.entries[h].used {
		d.beat(int32(h), now)
	}
	d.mu.Unlock()
}

// SetGrace gives a tracked key a grace period of its own, from its last beat on, and says whether the
// key is known. A grace that is not positive is ignored. There should be few different ones: each is a
// list to look at.
func (d *Deadlines[K]) SetGrace(key K, grace time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.index.Find(key)
	if !ok || grace <= 0 {
		return ok
	}
	list := d.beats.listOf(int64(grace))
	if d.beats.entries[i].listed {
		d.beats.put(i, list, d.beats.entries[i].beat)
	} else {
		d.beats.entries[i].list = list
	}
	return true
}

// Expired yields each key whose deadline has passed, earliest deadline first within a grace period,
// and each only once until its next beat. Nothing is locked while the caller's code runs, which may
// call any method. It costs what expired.
func (d *Deadlines[K]) Expired() iter.Seq[K] {
	return func(yield func(K) bool) {
		now := d.time.clock.Now()
		for {
			d.mu.Lock()
			i := d.beats.expired(d.time.at(now))
			if i == none {
				d.mu.Unlock()
				return
			}
			key := d.index.Key(i)
			d.mu.Unlock()
			if !yield(key) {
				return
			}
		}
	}
}

// Next is the earliest deadline of a key that Expired has not handed out since its last beat; false
// when there is none. It may lie in the past.
func (d *Deadlines[K]) Next() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, ok := d.beats.next()
	if !ok {
		return time.Time{}, false
	}
	return d.time.time(n), true
}

// Forget drops the key and says whether it was known.
func (d *Deadlines[K]) Forget(key K) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.index.Find(key)
	if !ok {
		return false
	}
	d.index.Delete(key)
	d.beats.remove(i)
	return true
}

// Len is the number of keys.
func (d *Deadlines[K]) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.Len()
}

// Status is what is known of one key.
type Status struct {
	LastBeat, Deadline time.Time
	Grace              time.Duration
	// HandedOut: Expired has yielded it since its last beat.
	HandedOut bool
}

// Get returns what is known of the key.
func (d *Deadlines[K]) Get(key K) (Status, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.index.Find(key)
	if !ok {
		return Status{}, false
	}
	e := &d.beats.entries[i]
	grace := d.beats.lists[e.list].grace
	return Status{LastBeat: d.time.time(e.beat), Deadline: d.time.time(sum(e.beat, grace)), Grace: time.Duration(grace), HandedOut: !e.listed}, true
}

// Reset lets every key's clock start anew, as if all had a beat now: for an observer that was blind.
func (d *Deadlines[K]) Reset() {
	now := d.time.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.time.at(now)
	for i := range d.beats.entries {
		if d.beats.entries[i].used {
			d.beats.put(int32(i), d.beats.entries[i].list, at)
		}
	}
}

// DeadlineSnapshot is one key in a snapshot. Silent is how long it had been silent, so that the time
// while nobody watched is not counted.
type DeadlineSnapshot[K comparable] struct {
	Key       K             `json:"key"`
	Silent    time.Duration `json:"silent"`
	Grace     time.Duration `json:"grace"`
	HandedOut bool          `json:"handedOut,omitempty"`
}

// Snapshot returns every key, the longest silent first.
func (d *Deadlines[K]) Snapshot() []DeadlineSnapshot[K] {
	now := d.time.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.time.at(now)
	all := make([]DeadlineSnapshot[K], 0, d.index.Len())
	for i := range d.beats.entries {
		if e := &d.beats.entries[i]; e.used {
			all = append(all, DeadlineSnapshot[K]{d.index.Key(int32(i)), time.Duration(at - e.beat), time.Duration(d.beats.lists[e.list].grace), !e.listed})
		}
	}
	slices.SortStableFunc(all, func(a, b DeadlineSnapshot[K]) int { return cmp.Compare(b.Silent, a.Silent) })
	return all
}

// Restore tracks the keys of a snapshot as silent for as long as they were when it was taken. A key
// that is tracked already is an error, and so is a grace or a silence that is not plausible; then
// nothing is changed.
func (d *Deadlines[K]) Restore(snapshot []DeadlineSnapshot[K]) error {
	now := d.time.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := make(map[K]struct{}, len(snapshot))
	for _, s := range snapshot {
		_, known := d.index.Find(s.Key)
		_, twice := seen[s.Key]
		seen[s.Key] = struct{}{}
		if known || twice || s.Grace <= 0 || s.Silent < 0 {
			return fmt.Errorf("health: cannot restore key %v: tracked already, twice, or of no plausible time", s.Key)
		}
	}
	at := d.time.at(now)
	for _, s := range snapshot {
		i := d.track(s.Key)
		d.beats.put(i, d.beats.listOf(int64(s.Grace)), at-int64(s.Silent))
		if s.HandedOut {
			d.beats.unlist(i)
		}
	}
	return nil
}
