package timedworker

import "time"

// Status is a copy of what is known of one key.
type Status[V any] struct {
	Identity string
	Value    V
	// Running: the work has started; Due is not set then.
	Running bool
	// Queued: more work waits until the running one has ended.
	Queued bool
	// Due is when its turn comes, as the clock showed it when it was last read.
	Due time.Time
	// Attempts is how many tries failed, LastError the last error that one of them told.
	Attempts  int
	LastError error
}

// Get returns what is known of the key; false when nothing is scheduled or running. Work that was cancelled while it
// runs is not known any more; what was scheduled behind it is.
func (s *Set[K, V]) Get(key K) (Status[V], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index.Find(key)
	if !ok {
		return Status[V]{}, false
	}
	r := s.records.At(i)
	status := Status[V]{Identity: r.identity, Value: r.value}
	if r.tried != nil {
		status.Attempts, status.LastError = r.tried.attempts, r.tried.err
	}
	if r.holder != 0 {
		if t := s.running[r.holder-1]; t.void && t.next == nil {
			return Status[V]{}, false
		}
		status.Running, status.Queued = true, s.running[r.holder-1].next != nil
		return status, true
	}
	status.Due = s.time.Instant(s.heap(i).Due(i))
	return status, true
}

// Len is how many keys wait for their time; how many run is in Stats.
func (s *Set[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting()
}

// Next is when something starts next, not before now: when what waits is due first, or when a closed permission is asked
// again if that is later. False means that nothing will start before something is scheduled or resumed.
func (s *Set[K, V]) Next() (time.Time, bool) { return s.NextAt(s.read()) }

// NextAt is Next with the clock's reading.
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

// nextDue is Next in steady time; s.mu is held.
func (s *Set[K, V]) nextDue() (int64, bool) {
	if len(s.pauses) > 0 {
		return 0, false
	}
	due, ok := s.firstDue()
	if ok && s.closed != nil {
		due = max(due, s.opens)
	}
	return due, ok
}

// firstDue is when what waits is due first, in steady time; s.mu is held.
func (s *Set[K, V]) firstDue() (int64, bool) {
	_, due, ok := s.due.Min()
	if _, aside, some := s.aside.Min(); some && (!ok || aside < due) {
		due, ok = aside, true
	}
	return due, ok
}

// Wait is how long it is until Next, for callers that come back later, as reconcilers do with RequeueAfter: at
// least one nanosecond while something will start, also when it is due, and 0 when nothing will.
func (s *Set[K, V]) Wait() time.Duration {
	now := s.read()
	next, ok := s.NextAt(now)
	if !ok {
		return 0
	}
	return max(next.Sub(now), 1)
}
