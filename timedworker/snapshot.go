package timedworker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/dueheap"
	"github.com/evictkit/evictkit/internal/keyindex"
	"github.com/evictkit/evictkit/internal/slab"
	"github.com/evictkit/evictkit/internal/steady"
)

// snapshotVersion is what Snapshot writes and Restore reads.
const snapshotVersion = 1

// Snapshot is everything that is not done, for another process to go on with: it holds times that remain, no instants,
// and encodes to JSON where key and value do.
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
	// In is the time until its turn; below zero it is overdue.
	In time.Duration `json:"in"`
	// Place orders items that are, or come to be, due at the same time: lower ones go first. It counts from 1, and is left out, 0,
	// where all items are in the order of their places.
	Place int `json:"place,omitempty"`
	// PutOff is by how much tries have put its turn off since it was scheduled, Attempts how many of them failed.
	PutOff   time.Duration `json:"putOff,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
}

// Snapshot returns what a Set is to know that goes on in its place: as if no time passed meanwhile and all that
// runs had ended just now with Blocked(0), which is what becomes of it when its process ends. So work that was
// cancelled while it runs is not in it, and work that is queued is, if it would take the running one's place. The answer of
// Permission is not in it: it is asked anew.
func (s *Set[K, V]) Snapshot() Snapshot[K, V] { return s.SnapshotAt(s.read()) }

// SnapshotAt is Snapshot with the clock's reading.
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

// place is where an item of a snapshot comes.
type place struct {
	due  int64
	seq  uint64
	item int
}

// collect copies what is there, in no order.
func (s *Set[K, V]) collect(at time.Time) (items []SnapshotItem[K, V], places []place, pauses []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tick(at)
	items = make([]SnapshotItem[K, V], 0, s.waiting()+len(s.running))
	places = make([]place, 0, cap(items))
	add := func(key K, r *record[V], due, asked int64, seq uint64) {
		item := SnapshotItem[K, V]{
			Key: key, Identity: r.identity, Value: r.value,
			In: time.Duration(steady.Sub(due, now)), PutOff: time.Duration(steady.Sub(due, asked)),
		}
		if r.tried != nil {
			item.Attempts = r.tried.attempts
		}
		places = append(places, place{due, seq, len(items)})
		items = append(items, item)
	}
	for _, heap := range []*dueheap.Heap{&s.due, &s.aside} {
		heap.Each(func(i int32, due int64, seq uint64) { add(s.index.Key(i), s.records.At(i), due, s.asked(i), seq) })
	}
	for _, t := range s.running {
		running := s.records.At(t.number)
		switch next := t.next; {
		case next != nil && (t.void || next.supersedes(t.asked)):
			add(t.work.Key, &next.record, next.due, next.asked(), next.seq)
		case !t.void:
			add(t.work.Key, running, now, t.asked, t.seq)
		}
	}
	return items, places, slices.Clone(s.pauses)
}

// asked is when it was scheduled to run.
func (q *queued[V]) asked() int64 {
	if q.tried != nil {
		return q.tried.asked
	}
	return q.due
}

// Restore puts the work and the pauses of a snapshot into an empty Set, each piece as long from now as it was from the
// snapshot. Anything scheduled, anything running that was not cancelled, a version other than 1, a key or a reason that
// comes twice, and numbers below zero that make no sense are errors, and then nothing is changed.
func (s *Set[K, V]) Restore(snapshot Snapshot[K, V]) error { return s.RestoreAt(snapshot, s.read()) }

// RestoreAt is Restore with the clock's reading.
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
	for _, item := range items { // so that they have their places again
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
			return fmt.Errorf("key %v comes twice", item.Key)
		}
		keys[item.Key] = struct{}{}
		if item.PutOff < 0 || item.Attempts < 0 {
			return fmt.Errorf("key %v: putOff and attempts must not be negative", item.Key)
		}
	}
	reasons := slices.Clone(snapshot.Pauses)
	slices.Sort(reasons)
	if len(slices.Compact(reasons)) < len(snapshot.Pauses) {
		return errors.New("a reason to pause comes twice")
	}
	return nil
}

// empty says whether nothing is known but work that runs and was cancelled; s.mu is held.
func (s *Set[K, V]) empty() bool {
	return s.waiting() == 0 && !slices.ContainsFunc(s.running, func(t *try[K, V]) bool { return !t.void || t.next != nil })
}

// restoreItem puts in one item whose key is not known, or that of cancelled work that runs; s.mu is held.
func (s *Set[K, V]) restoreItem(item *SnapshotItem[K, V], now int64) {
	due := steady.Add(now, item.In)
	r := record[V]{identity: item.Identity, value: item.Value}
	if item.PutOff > 0 || item.Attempts > 0 {
		r.tried = &tried{asked: steady.Sub(due, int64(item.PutOff)), attempts: item.Attempts}
	}
	s.counts.Added++
	i, isNew := s.index.Insert(item.Key)
	if isNew {
		s.put(i, r, due, s.came())
		return
	}
	s.running[s.records.At(i).holder-1].next = &queued[V]{record: r, due: due, seq: s.came()}
}

// Clear forgets everything: nothing that waits will run, and what runs is not tried again. Pauses and Stats stay. What
// there was is given back to the garbage collector as a whole, however much it was.
func (s *Set[K, V]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.records
	s.index, s.records, s.due, s.aside = keyindex.Index[K]{}, slab.Slab[record[V]]{}, dueheap.Heap{}, dueheap.Heap{}
	for _, t := range s.running {
		t.void, t.next = true, nil
		running := *old.At(t.number)
		t.number, _ = s.index.Insert(t.work.Key)
		*s.records.Use(t.number) = running
	}
}
