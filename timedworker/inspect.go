package timedworker

import "time"

// Status is a copy of what is known about one key.
type Status[V any] struct {
	Identity string
	Value    V
	// Running: the work has started. Due is zero then.
	Running bool
	// Queued: more work waits until the running work has ended.
	Queued bool
	// Due is when the work is due, as the clock showed it when it was last read.
	Due time.Time
	// Attempts is how many tries failed; LastError is the last error of a try, nil if there was none.
	Attempts  int
	LastError error
}

// Get returns what is known about the key; false if nothing is scheduled or running. Work that was cancelled while it
// runs is no longer known, unless other work was scheduled behind it: then Get shows the running work with Queued set.
func (s *Set[K, V]) Get(key K) (Status[V], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records.Get(key)
	if r == nil {
		return Status[V]{}, false
	}
	status := Status[V]{Identity: r.identity, Value: r.value}
	if r.tried != nil {
		status.Attempts, status.LastError = r.tried.attempts, r.tried.err
	}
	if t := r.try; t != nil {
		if t.void && t.next == nil {
			return Status[V]{}, false
		}
		status.Running, status.Queued = true, t.next != nil
		return status, true
	}
	status.Due = s.time.Instant(r.due)
	return status, true
}

// Len returns how many keys wait. Stats says how many run.
func (s *Set[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting()
}

// Next returns when work next starts, not before now: when the earliest waiting work is due, or, if that is later, when a
// refused permission is asked again. False means that nothing will start before something is scheduled or resumed.
func (s *Set[K, V]) Next() (time.Time, bool) { return s.NextAt(s.read()) }

// NextAt is Next at a reading of the clock.
func (s *Set[K, V]) NextAt(now time.Time) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := s.tick(now)
	n, ok := s.nextDue()
	if !ok {
		return time.Time{}, false
	}
	return s.time.Instant(max(n, elapsed)), true
}

// nextDue is Next in steady time, but may lie in the past. s.mu is held.
func (s *Set[K, V]) nextDue() (int64, bool) {
	if len(s.pauses) > 0 {
		return 0, false
	}
	return s.firstDue()
}

// firstDue returns the earliest due time of what waits, in steady time. s.mu is held.
func (s *Set[K, V]) firstDue() (int64, bool) {
	_, due, ok := s.due.Min()
	if _, aside, some := s.aside.Min(); some && (!ok || aside < due) {
		due, ok = aside, true
	}
	return due, ok
}

// Wait returns how long it is until Next, for reconcilers to use as RequeueAfter: at least one nanosecond if something is
// due now or later, and 0 if nothing will start before something is scheduled or resumed.
func (s *Set[K, V]) Wait() time.Duration {
	now := s.read()
	next, ok := s.NextAt(now)
	if !ok {
		return 0
	}
	return max(next.Sub(now), 1)
}
