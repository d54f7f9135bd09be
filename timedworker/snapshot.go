package timedworker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
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
	// Place orders items that are due at the same time, now or after a retry: lower ones go first. It counts from 1. If
	// Items are in the order of their places anyway, it is left out.
	Place int `json:"place,omitempty"`
	// PutOff is by how much tries have put the work off since it was scheduled; Attempts is how many tries failed.
	PutOff   time.Duration `json:"putOff,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// Snapshot returns what another Set needs to continue in place of this one. Running work is in it as if it had just ended
// with Blocked(0), because that is what happens to it when its process ends. So work that was cancelled while it runs is
// not in it, and queued work is if it would take the running work's place. Permission is asked anew after a restore.
func (s *Set[K, V]) Snapshot() Snapshot[K, V] { return s.SnapshotAt(s.read()) }

// SnapshotAt is Snapshot at a reading of the clock.
func (s *Set[K, V]) SnapshotAt(now time.Time) Snapshot[K, V] {
	items, places, pauses := s.collect(now)
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.seq, b.seq) })
	byDue := func(a, b place) int { return cmp.Compare(a.due, b.due) }
	if !slices.IsSortedFunc(places, byDue) {
		for i, p := range places {
			items[p.item].Place = i + 1
		}
		slices.SortStableFunc(places, byDue)
	}
	sorted := make([]SnapshotItem[K, V], len(items))
	for i, p := range places {
		sorted[i] = items[p.item]
	}
	return Snapshot[K, V]{Version: snapshotVersion, Items: sorted, Pauses: pauses}
}

// place says where an item comes in a snapshot.
type place struct {
	due  int64
	seq  uint64
	item int
}

// collect copies everything, unordered.
func (s *Set[K, V]) collect(at time.Time) (items []SnapshotItem[K, V], places []place, pauses []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tick(at)
	items = make([]SnapshotItem[K, V], 0, s.records.Len())
	places = make([]place, 0, cap(items))
	add := func(key K, w *task[V], due int64) {
		item := SnapshotItem[K, V]{
			Key: key, Identity: w.identity, Value: w.value,
			In: time.Duration(steady.Sub(due, now)), PutOff: time.Duration(steady.Sub(due, w.asked())),
		}
		if w.tried != nil {
			item.Attempts = w.tried.attempts
		}
		places = append(places, place{due, w.seq, len(items)})
		items = append(items, item)
	}
	for key, r := range s.records.All() {
		switch t := r.try; {
		case t == nil:
			add(key, &r.task, r.due)
		case t.next != nil && (t.void || t.next.supersedes(r.asked())):
			add(key, &t.next.task, t.next.due)
		case !t.void:
			add(key, &r.task, now)
		}
	}
	return items, places, slices.Clone(s.pauses)
}

// Restore loads the work and the pauses of a snapshot into an empty Set, with the remaining times counted from now. It is
// an error, and nothing has changed, if anything is scheduled, if anything runs that was not cancelled, if the version
// is unknown, if a key or a reason appears twice, or if a PutOff or Attempts is negative.
func (s *Set[K, V]) Restore(snapshot Snapshot[K, V]) error { return s.RestoreAt(snapshot, s.read()) }

// RestoreAt is Restore at a reading of the clock.
func (s *Set[K, V]) RestoreAt(snapshot Snapshot[K, V], now time.Time) error {
	if err := snapshot.validate(); err != nil {
		return fmt.Errorf("timedworker: cannot restore: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.empty() {
		return errors.New("timedworker: cannot restore: there is work already")
	}
	at := s.tick(now)
	items := make([]*SnapshotItem[K, V], len(snapshot.Items))
	for i := range items {
		items[i] = &snapshot.Items[i]
	}
	slices.SortStableFunc(items, func(a, b *SnapshotItem[K, V]) int { return cmp.Compare(a.Place, b.Place) })
	for _, item := range items { // in the order of their places, so that they get them back
		s.restoreItem(item, at)
	}
	for _, reason := range snapshot.Pauses {
		s.pause(reason)
	}
	return nil
}

func (snapshot *Snapshot[K, V]) validate() error {
	if snapshot.Version != snapshotVersion {
		return fmt.Errorf("version %d is not %d", snapshot.Version, snapshotVersion)
	}
	keys := make(map[K]struct{}, len(snapshot.Items))
	for i := range snapshot.Items {
		item := &snapshot.Items[i]
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

// empty reports whether nothing is known except running work that was cancelled. s.mu is held.
func (s *Set[K, V]) empty() bool {
	if s.waiting() > 0 {
		return false
	}
	for _, r := range s.records.All() {
		if !r.try.void || r.try.next != nil {
			return false
		}
	}
	return true
}

// restoreItem adds one item. Its key is unknown, or that of cancelled work that still runs. s.mu is held.
func (s *Set[K, V]) restoreItem(item *SnapshotItem[K, V], now int64) {
	w := task[V]{identity: item.Identity, value: item.Value, due: steady.Add(now, item.In), seq: s.came()}
	if item.PutOff > 0 || item.Attempts > 0 {
		w.tried = &tried{asked: steady.Sub(w.due, int64(item.PutOff)), attempts: item.Attempts}
	}
	if r := s.records.Get(item.Key); r != nil {
		s.counts.Added++
		r.try.next = &queued[V]{task: w}
		return
	}
	s.add(item.Key, w)
}

// Clear forgets everything: nothing that waits will run, and what runs is not tried again. Pauses and Stats stay.
func (s *Set[K, V]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due, s.aside = due.Heap[*record[K, V]]{}, due.Heap[*record[K, V]]{}
	s.records.Keep(func(r *record[K, V]) bool {
		if r.try != nil {
			r.try.void, r.try.next = true, nil
		}
		return r.try != nil
	})
}
