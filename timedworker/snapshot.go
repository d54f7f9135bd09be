package timedworker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/slots"
)

// snapshotVersion is the version that Snapshot writes and Restore reads.
const snapshotVersion = 1

// Snapshot is all unfinished work, for another process to continue. It holds remaining times, not instants, and encodes
// to JSON if K and V do.
type Snapshot[K comparable, V any] struct {
	// Version is 1.
	Version int `json:"version"`
	// Items are in the order in which they are due.
	Items []SnapshotItem[K, V] `json:"items"`
	// Pauses are the reasons in force, oldest first.
	Pauses []string `json:"pauses,omitempty"`
}

// SnapshotItem is one piece of work in a snapshot.
type SnapshotItem[K comparable, V any] struct {
	Key      K      `json:"key"`
	Identity string `json:"identity,omitempty"`
	Value    V      `json:"value"`
	// In is how long it is until the work is due, negative if it is overdue.
	In time.Duration `json:"in"`
	// Place orders items that are due at the same time, now or after a retry: lower places go first. It counts from 1, and
	// is left out if the Items are in the order of their places anyway.
	Place int `json:"place,omitempty"`
	// PutOff is by how much tries have put the work off since it was scheduled; Attempts is how many tries have failed.
	PutOff   time.Duration `json:"putOff,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// Snapshot returns what another Set needs to go on in place of this one. It shows running work as if that had just
// ended with Blocked(0), because that is what happens to it when its process ends. So it leaves out work that was
// cancelled while it runs, and includes an entry scheduled meanwhile if that would take the running work's place.
func (s *Set[K, V]) Snapshot() Snapshot[K, V] {
	now := s.table.Read()
	copies, pauses := s.table.Copies(now), slices.Clone(s.table.Pauses)
	s.table.Unlock()
	slices.SortFunc(copies, func(a, b slots.Copy[K, V]) int { return cmp.Compare(a.Seq, b.Seq) })
	items := make([]SnapshotItem[K, V], len(copies))
	for i := range copies {
		c := &copies[i]
		items[i] = SnapshotItem[K, V]{c.Key, c.Identity, c.Value, c.In, i + 1, c.PutOff, c.Attempts}
	}
	byDue := func(a, b SnapshotItem[K, V]) int { return cmp.Compare(a.In, b.In) }
	if slices.IsSortedFunc(items, byDue) {
		for i := range items {
			items[i].Place = 0
		}
	}
	slices.SortStableFunc(items, byDue)
	return Snapshot[K, V]{Version: snapshotVersion, Items: items, Pauses: pauses}
}

// Restore loads the work and the pauses of a snapshot into an empty Set, with the remaining times counted from now. It
// returns an error and changes nothing if the Set knows any key, if the version is unknown, if a key or a reason
// appears twice, if a key does not equal itself (NaN), or if a PutOff or Attempts is negative.
func (s *Set[K, V]) Restore(snapshot Snapshot[K, V]) error {
	if err := snapshot.validate(); err != nil {
		return fmt.Errorf("timedworker: cannot restore: %w", err)
	}
	items := slices.Clone(snapshot.Items)
	slices.SortStableFunc(items, func(a, b SnapshotItem[K, V]) int { return cmp.Compare(a.Place, b.Place) })
	now := s.table.Read()
	defer s.table.Unlock()
	for range s.table.All() {
		return errors.New("timedworker: cannot restore: there is work already: call Restore before the first Schedule")
	}
	for _, item := range items { // in the order of their places, so that they get them back
		c := slots.Copy[K, V]{
			Key: item.Key, Identity: item.Identity, Value: item.Value,
			In: item.In, PutOff: item.PutOff, Attempts: item.Attempts,
		}
		s.table.Paste(&c, false, now)
	}
	for _, reason := range snapshot.Pauses {
		s.table.Pauses.Add(reason)
	}
	return nil
}

func (snapshot *Snapshot[K, V]) validate() error {
	if snapshot.Version != snapshotVersion {
		return fmt.Errorf("a snapshot of version %d, only of version %d", snapshot.Version, snapshotVersion)
	}
	keys := make(map[K]struct{}, len(snapshot.Items))
	for i := range snapshot.Items {
		item := &snapshot.Items[i]
		if item.Key != item.Key { //nolint:gocritic // a number that is none
			return fmt.Errorf("key %v does not equal itself, so it could never be cancelled", item.Key)
		}
		if _, twice := keys[item.Key]; twice {
			return fmt.Errorf("key %v appears twice", item.Key)
		}
		keys[item.Key] = struct{}{}
		if item.PutOff < 0 || item.Attempts < 0 {
			return fmt.Errorf("key %v: putOff and attempts must not be negative", item.Key)
		}
	}
	reasons := slices.Clone(snapshot.Pauses)
	slices.Sort(reasons)
	if len(slices.Compact(reasons)) < len(snapshot.Pauses) {
		return errors.New("a reason to pause appears twice")
	}
	return nil
}
