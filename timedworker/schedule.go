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
	if steady.Monotonic(e.Due) {
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
	r := s.records.Get(e.Key)
	switch {
	case r == nil:
		s.add(e.Key, s.task(e, due))
		return Scheduled
	case r.try != nil:
		return s.behind(r.try, e, due)
	case differ(r.identity, e.Identity):
		s.counts.Added++
		r.task = s.task(e, due)
		s.enqueue(r)
		return Replaced
	}
	return s.again(r, e, due)
}

// task returns an entry as new work. s.mu is held.
func (s *Set[K, V]) task(e *Entry[K, V], due int64) task[V] {
	return task[V]{identity: e.Identity, value: e.Value, due: due, seq: s.came()}
}

// again schedules work that waits already. s.mu is held.
func (s *Set[K, V]) again(r *record[K, V], e *Entry[K, V], due int64) ScheduleResult {
	if e.Identity != "" {
		r.identity = e.Identity
	}
	if e.OnDuplicate.keeps(r.asked(), due) {
		return Unchanged
	}
	was := r.due
	r.replace(e.Value, due)
	if due == was {
		return Unchanged
	}
	s.enqueue(r)
	return Moved
}

// replace gives waiting work another value and due time. It keeps its place among equal due times and its failed tries.
func (w *task[V]) replace(value V, due int64) {
	w.value, w.due = value, due
	if w.tried != nil {
		w.tried.asked = due
	}
}

// queued is work that waits until its key's running work has ended.
type queued[V any] struct {
	task[V]
	policy Duplicate
}

// behind schedules work whose key is running. s.mu is held.
func (s *Set[K, V]) behind(t *try[K, V], e *Entry[K, V], due int64) ScheduleResult {
	identity := e.Identity
	if owner := t.owner(); owner != nil && !differ(owner.identity, e.Identity) {
		if owner.identity == "" {
			owner.identity = e.Identity
		}
		if t.void {
			if e.OnDuplicate.keeps(t.next.asked(), due) {
				return Unchanged
			}
			t.next.replace(e.Value, due)
			return Queued
		}
		if t.next != nil {
			t.next.identity = owner.identity
		}
		if e.WhileInFlight == Ignore {
			return Unchanged
		}
		identity = owner.identity
	} else {
		t.void = true // or is already
	}
	s.counts.Added++
	t.next = &queued[V]{s.task(e, due), e.OnDuplicate}
	t.next.identity = identity
	return Queued
}

// owner returns the work that has the key: the running work, or if that is void, the queued work; nil if there is none.
func (t *try[K, V]) owner() *task[V] {
	switch {
	case !t.void:
		return &t.record.task
	case t.next != nil:
		return &t.next.task
	}
	return nil
}

// Cancel drops the key's work. Once it has returned, the work has either started already or never will.
func (s *Set[K, V]) Cancel(key K) CancelResult { return s.CancelIdentity(key, "") }

// CancelIdentity is Cancel for one identity only, so that a late event about a deleted object cannot cancel the work of
// its successor with the same key. An empty identity matches any. Work that only waits behind the running work of another
// identity is Cancelled.
func (s *Set[K, V]) CancelIdentity(key K, identity string) CancelResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records.Get(key)
	if r == nil {
		return NotFound
	}
	t, other := r.try, differ(r.identity, identity)
	if t == nil {
		if other {
			return OtherIdentity
		}
		s.drop(r)
		return Cancelled
	}
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
