package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/keyindex"
	"github.com/evictkit/evictkit/internal/steady"
)

// snapshotVersion is the version of every kind of snapshot.
const snapshotVersion = 1

// DeadlinesSnapshot is what a tracker knows. It encodes to JSON if the keys do. It holds ages, not instants, so the
// time until it is restored does not count, and it may be restored on another clock.
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

// Snapshot returns every key.
func (d *Deadlines[K]) Snapshot() DeadlinesSnapshot[K] { return d.SnapshotAt(d.clock.Now()) }

// SnapshotAt is Snapshot at a reading of the clock.
func (d *Deadlines[K]) SnapshotAt(now time.Time) DeadlinesSnapshot[K] {
	s := DeadlinesSnapshot[K]{Version: snapshotVersion, Keys: d.keysAt(now)}
	slices.SortStableFunc(s.Keys, func(a, b KeySnapshot[K]) int { return cmp.Compare(b.Silent, a.Silent) })
	return s
}

func (d *Deadlines[K]) keysAt(now time.Time) []KeySnapshot[K] {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.time.Read(now)
	all := make([]KeySnapshot[K], 0, d.index.Len())
	d.beats.each(func(i int32) {
		e := d.beats.entries.At(i)
		all = append(all, KeySnapshot[K]{
			Key: d.index.Key(i), Silent: time.Duration(steady.Sub(at, d.beats.lastBeat(e))), Grace: time.Duration(d.beats.graceOf(i, e)), HandedOut: d.beats.isOut(e),
		})
	})
	return all
}

// Restore tracks the keys of a snapshot, each silent for as long as when the snapshot was taken. From then on the tracker
// answers as the original would have if its clock had stood still in between. It is an error, and nothing has changed,
// if something is tracked already, if the version is unknown, or if a key is there twice, has a grace that is not
// positive or a negative silence.
func (d *Deadlines[K]) Restore(s DeadlinesSnapshot[K]) error { return d.RestoreAt(s, d.clock.Now()) }

// RestoreAt is Restore at a reading of the clock.
func (d *Deadlines[K]) RestoreAt(s DeadlinesSnapshot[K], now time.Time) error {
	if s.Version != snapshotVersion {
		return fmt.Errorf("health: cannot restore a snapshot of version %d", s.Version)
	}
	var index keyindex.Index[K] // numbers the keys in the order of the snapshot
	order := make([]int32, len(s.Keys))
	for i, k := range s.Keys {
		if _, isNew := index.Insert(k.Key); !isNew || k.Grace <= 0 || k.Silent < 0 {
			return fmt.Errorf("health: cannot restore key %v: it is there twice, its grace is not positive or its silence is negative", k.Key)
		}
		order[i] = int32(i)
	}
	// In this order, every beat goes to the end of the line, in O(1).
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(s.Keys[b].Silent, s.Keys[a].Silent) })
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.Len() > 0 {
		return fmt.Errorf("health: cannot restore beside the %d keys that are tracked already", d.index.Len())
	}
	at := d.time.Read(now)
	d.beats, d.index = newBeats(d.beats.grace), index
	for _, i := range order {
		d.restoreKey(i, &s.Keys[i], at)
	}
	return nil
}

func (d *Deadlines[K]) restoreKey(i int32, k *KeySnapshot[K], at int64) {
	e := d.beats.add(i)
	if int64(k.Grace) != d.beats.grace {
		d.beats.setGrace(i, int64(k.Grace))
	}
	if beat := steady.Sub(at, int64(k.Silent)); k.HandedOut {
		d.beats.setOut(i, e, beat)
	} else {
		d.beats.put(i, beat)
	}
}
