package timedworker

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Status is a copy of what is known of one key.
type Status[P any] struct {
	Identity string
	Payload  P
	// Running: the work has started; Due is not set then.
	Running bool
	// Queued: more work waits until the running one has returned.
	Queued  bool
	Due     time.Time
	Attempt int
}

// Get returns what is known of the key; false when nothing is scheduled or running.
func (s *Set[K, P]) Get(key K) (Status[P], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index.Find(key)
	if !ok {
		return Status[P]{}, false
	}
	r := &s.records[i]
	st := Status[P]{Identity: r.identity, Payload: r.payload, Running: r.running, Queued: s.backlogs[i] != nil, Attempt: int(r.attempt)}
	if s.due.Has(i) {
		st.Due = s.time(s.due.Due(i))
	}
	return st, true
}

// Len is how many keys are scheduled or running.
func (s *Set[K, P]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index.Len()
}

// Running is how many are running.
func (s *Set[K, P]) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// Next is when something that is not running is due first, or when a closed fence is asked again if
// that is later; false when nothing is scheduled. It may lie in the past.
func (s *Set[K, P]) Next() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.nextDue()
	if !ok {
		return time.Time{}, false
	}
	return s.time(n), true
}

func (s *Set[K, P]) nextDue() (int64, bool) {
	_, due, ok := s.due.Min()
	if ok && s.fence != nil && due < s.fenced {
		due = s.fenced
	}
	return due, ok
}

// Kick asks a closed fence again when something is next due.
func (s *Set[K, P]) Kick() {
	s.mu.Lock()
	s.fence = nil
	s.mu.Unlock()
	s.kick()
}

// Item is one piece of work in a snapshot. In is the time until it is due, not an instant, so that it
// can be restored by another process; below zero it is overdue.
type Item[K comparable, P any] struct {
	Key      K             `json:"key"`
	Identity string        `json:"identity,omitempty"`
	Payload  P             `json:"payload"`
	In       time.Duration `json:"in"`
	Attempt  int           `json:"attempt,omitempty"`
}

// Snapshot returns all work that is not done, in the order in which it is due; what is running comes
// first, as due now.
func (s *Set[K, P]) Snapshot() []Item[K, P] {
	clockNow := s.config.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tick(clockNow)
	type ordered struct {
		Item[K, P]
		seq uint32
	}
	all := make([]ordered, 0, s.index.Len())
	item := func(i int32, in int64) Item[K, P] {
		r := &s.records[i]
		return Item[K, P]{Key: s.index.Key(i), Identity: r.identity, Payload: r.payload, In: time.Duration(in), Attempt: int(r.attempt)}
	}
	s.due.Each(func(i int32, due int64, seq uint32) { all = append(all, ordered{item(i, until(now, due)), seq}) })
	slices.SortFunc(all, func(a, b ordered) int {
		if c := cmp.Compare(a.In, b.In); c != 0 {
			return c
		}
		return cmp.Compare(int32(a.seq-b.seq), 0)
	})
	items := make([]Item[K, P], 0, len(all)+s.running)
	for i := range s.records {
		if s.records[i].running {
			items = append(items, item(int32(i), 0))
		}
	}
	for _, o := range all {
		items = append(items, o.Item)
	}
	return items
}

// until is due less now, which is not below zero, without overflow.
func until(now, due int64) int64 {
	if in := due - now; in <= due {
		return in
	}
	return -1 << 63
}

// Restore schedules the work of a snapshot, each piece as long from now as it was from the snapshot.
// A key that is there already or twice is an error, and then nothing is changed.
func (s *Set[K, P]) Restore(items []Item[K, P]) error {
	clockNow := s.config.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[K]struct{}, len(items))
	for _, it := range items {
		_, known := s.index.Find(it.Key)
		_, twice := seen[it.Key]
		seen[it.Key] = struct{}{}
		if known || twice {
			return fmt.Errorf("timedworker: cannot restore key %v: it is scheduled already, or in the snapshot twice", it.Key)
		}
	}
	now := s.tick(clockNow)
	for _, it := range items {
		i, _ := s.index.Insert(it.Key)
		if int(i) == len(s.records) {
			s.records = append(s.records, record[P]{})
		}
		at := addTo(now, it.In)
		s.records[i] = record[P]{identity: it.Identity, payload: it.Payload, asked: at, attempt: int32(it.Attempt)}
		s.enqueue(i, at)
	}
	return nil
}
