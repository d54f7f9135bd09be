package timedworker

import (
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// Schedule schedules the key's work for due: at once if that has passed; the zero time means now. Work that waits already
// is moved and gets the new value. For a running key it queues another turn. It is ScheduleEntry with OnDuplicate Replace.
func (s *Set[K, V]) Schedule(key K, value V, due time.Time) ScheduleResult {
	return s.ScheduleEntry(Entry[K, V]{Key: key, Value: value, Due: due, OnDuplicate: Replace})
}

// ScheduleEntry schedules work with an identity and policies. If the key's work has another identity, the entry takes its
// place whatever the policies say, and starts with no failed tries; if that work is running, the entry waits for its end.
func (s *Set[K, V]) ScheduleEntry(e Entry[K, V]) ScheduleResult {
	if s.config.Permission == nil && steady.Monotonic(e.Due) {
		return s.schedule(&e, time.Time{}) // reading the clock would take a sixth of the time
	}
	return s.schedule(&e, s.read())
}

// ScheduleEntryAt is ScheduleEntry at a reading of the clock.
func (s *Set[K, V]) ScheduleEntryAt(e Entry[K, V], now time.Time) ScheduleResult {
	return s.schedule(&e, now)
}

// schedule takes no reading of the clock if now is zero. Then a due time with a monotonic part is compared with the last
// reading, unless that has none.
func (s *Set[K, V]) schedule(e *Entry[K, V], now time.Time) ScheduleResult {
	permitted := s.mayTakeIn(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.IsZero() && !s.time.Monotonic() {
		now = s.read()
	}
	if !now.IsZero() {
		s.tick(now)
	}
	due := s.time.Elapsed()
	if !e.Due.IsZero() {
		due = s.time.Of(e.Due)
	}
	if !permitted && s.refuse(e.Key, e.Identity) {
		return NotPermitted
	}
	i, isNew := s.records.Insert(e.Key)
	if isNew {
		s.counts.Added++
		s.put(i, record[V]{identity: e.Identity, value: e.Value}, due, s.came())
		return Scheduled
	}
	known := s.records.At(i)
	if known.holder != 0 {
		return s.behind(s.running[known.holder-1], known, e, due)
	}
	if differ(known.identity, e.Identity) {
		s.counts.Added++
		*known = record[V]{identity: e.Identity, value: e.Value}
		s.enqueue(i, due, s.came())
		return Replaced
	}
	return s.again(i, known, e, due)
}

// again schedules work that waits already. s.mu is held.
func (s *Set[K, V]) again(i int32, known *record[V], e *Entry[K, V], due int64) ScheduleResult {
	if e.Identity != "" {
		known.identity = e.Identity
	}
	if e.OnDuplicate.keeps(s.asked(i), due) {
		return Unchanged
	}
	known.value = e.Value
	if known.tried != nil {
		known.tried.asked = due
	}
	if due == s.heap(i).Due(i) {
		return Unchanged
	}
	s.enqueue(i, due, s.heap(i).Seq(i))
	return Moved
}

// queued is work that waits until its key's running work has ended.
type queued[V any] struct {
	record[V]
	due    int64
	seq    uint64
	policy Duplicate
}

// behind schedules work whose key is running. s.mu is held.
func (s *Set[K, V]) behind(t *try[K, V], running *record[V], e *Entry[K, V], due int64) ScheduleResult {
	next := &queued[V]{record[V]{identity: e.Identity, value: e.Value}, due, 0, e.OnDuplicate}
	if owner := t.owner(running); owner != nil && !differ(owner.identity, e.Identity) {
		if owner.identity == "" {
			owner.identity = e.Identity
		}
		if t.void {
			return t.next.again(e.Value, e.OnDuplicate, due)
		}
		if t.next != nil {
			t.next.identity = owner.identity
		}
		if e.WhileInFlight == Ignore {
			return Unchanged
		}
		next.identity = owner.identity
	} else {
		t.void = true // or is already
	}
	s.counts.Added++
	next.seq = s.came()
	t.next = next
	return Queued
}

// again schedules work that waits already, for the end of work that is no longer wanted.
func (q *queued[V]) again(value V, policy Duplicate, due int64) ScheduleResult {
	if policy.keeps(q.asked(), due) {
		return Unchanged
	}
	q.value, q.due = value, due
	if q.tried != nil {
		q.tried.asked = due
	}
	return Queued
}

// owner returns the record that has the key: the running work's, or if that is void, the queued work's; nil if there is
// none.
func (t *try[K, V]) owner(running *record[V]) *record[V] {
	switch {
	case !t.void:
		return running
	case t.next != nil:
		return &t.next.record
	}
	return nil
}

// refuse reports whether scheduling would add something new, which is not permitted now. If the key's work has another
// identity, refuse drops it, so that it does not run in place of the new work. s.mu is held.
func (s *Set[K, V]) refuse(key K, identity string) bool {
	i, ok := s.records.Find(key)
	if !ok {
		return true
	}
	known := s.records.At(i)
	if known.holder != 0 {
		t := s.running[known.holder-1]
		if owner := t.owner(known); owner != nil && differ(owner.identity, identity) {
			t.void, t.next = true, nil
		}
		return true
	}
	if differ(known.identity, identity) {
		s.drop(key, i)
		return true
	}
	return false
}

// Cancel drops the key's work. Once it has returned, the work has either started already or never will.
func (s *Set[K, V]) Cancel(key K) CancelResult { return s.CancelIdentity(key, "") }

// CancelIdentity is Cancel for one identity only, so that a late event about a deleted object cannot cancel the work of
// its successor with the same key. An empty identity matches any. Work that only waits behind the running work of another
// identity is Cancelled.
func (s *Set[K, V]) CancelIdentity(key K, identity string) CancelResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	place, ok := s.records.Locate(key)
	if !ok {
		return NotFound
	}
	i := place.Number()
	known := s.records.At(i)
	other := differ(known.identity, identity)
	if known.holder == 0 {
		if other {
			return OtherIdentity
		}
		s.heap(i).Remove(i)
		s.records.DeleteAt(place)
		return Cancelled
	}
	t := s.running[known.holder-1]
	queued := t.next != nil && !differ(t.next.identity, identity)
	if queued {
		t.next = nil
	}
	switch {
	case !other:
		t.void = true
		return Running
	case queued:
		return Cancelled
	}
	return OtherIdentity
}
