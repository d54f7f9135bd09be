package health

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

func age(now, then int64) time.Duration { return time.Duration(steady.Sub(now, then)) }

// snapshotVersion is the version of every kind of snapshot.
const snapshotVersion = 1

// DeadlinesSnapshot is what a Deadlines knows. It encodes to JSON if the keys do. It holds ages, not instants: the time
// until Restore does not count, and another clock may restore it.
type DeadlinesSnapshot[K comparable] struct {
	// Version is 1.
	Version int `json:"version"`
	// Keys are the tracked keys, the longest silent first.
	Keys []KeySnapshot[K] `json:"keys,omitempty"`
}

// KeySnapshot is one key in a snapshot.
type KeySnapshot[K comparable] struct {
	Key K `json:"key"`
	// Silent is how long ago the last beat was.
	Silent time.Duration `json:"silent"`
	Grace  time.Duration `json:"grace"`
	// HandedOut: Expired has yielded it since its last beat.
	HandedOut bool `json:"handedOut,omitempty"`
}

// Snapshot returns every key. It leaves out whether the tracker is frozen.
func (d *Deadlines[K]) Snapshot() DeadlinesSnapshot[K] {
	s := DeadlinesSnapshot[K]{Version: snapshotVersion, Keys: d.keys()}
	slices.SortStableFunc(s.Keys, func(a, b KeySnapshot[K]) int { return cmp.Compare(b.Silent, a.Silent) })
	return s
}

func (d *Deadlines[K]) keys() []KeySnapshot[K] {
	at := d.lock()
	defer d.mu.Unlock()
	all := make([]KeySnapshot[K], 0, d.entries.Len())
	for key, e := range d.entries.All() {
		all = append(all, KeySnapshot[K]{Key: key, Silent: age(at, e.beat), Grace: time.Duration(e.grace), HandedOut: e.isOut()})
	}
	return all
}

// Restore tracks the keys of a snapshot, each silent for as long as when the snapshot was taken. From then on the
// tracker answers as the original would have if its clock had stood still in between, but it knows of no earlier gap. A
// Freeze stays in force. Restore returns an error and changes nothing if a key is tracked already, if the version is
// unknown, or if a key appears twice, has a grace period that is not positive, or a negative silence.
func (d *Deadlines[K]) Restore(s DeadlinesSnapshot[K]) error {
	if s.Version != snapshotVersion {
		return fmt.Errorf("health: cannot restore a snapshot of version %d, only of version %d", s.Version, snapshotVersion)
	}
	twice := make(map[K]bool, len(s.Keys))
	for _, k := range s.Keys {
		why := ""
		switch {
		case twice[k.Key]:
			why = "it is there twice"
		case k.Key != k.Key: //nolint:gocritic // NaN
			why = "it does not equal itself"
		case k.Grace <= 0:
			why = fmt.Sprintf("grace %s must be greater than 0", k.Grace)
		case k.Silent < 0:
			why = fmt.Sprintf("silent %s must not be negative", k.Silent)
		}
		if why != "" {
			return fmt.Errorf("health: cannot restore key %v: %s", k.Key, why)
		}
		twice[k.Key] = true
	}
	at := d.lock()
	defer d.mu.Unlock()
	if d.entries.Len() > 0 {
		return fmt.Errorf("health: cannot restore beside the %d keys that are tracked already: call Restore first", d.entries.Len())
	}
	d.listens.gapAt = math.MinInt64
	for _, k := range s.Keys {
		if e := d.track(k.Key, steady.Sub(at, int64(k.Silent)), int64(k.Grace)); k.HandedOut {
			d.beats.remove(e)
		}
	}
	return nil
}
