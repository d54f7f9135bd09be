package ratelimitqueue

import "time"

// Status is a copy of what is known about one key.
type Status[V any] struct {
	State      State
	Value      V
	Identity   string
	Added, Due time.Time
	// Attempts is how many tries failed. LastError is the last error given to Fail, nil if there was none.
	Attempts  int
	LastError error
}

// Stats is what a queue or a group holds now, and what it has done since it was made.
type Stats struct {
	// Waiting and Kept are how many keys are in these states. InFlight is how many holders have not ended, including
	// those whose key was removed.
	Waiting, InFlight, Kept int
	// Added counts what was newly taken in: unknown keys, further turns of keys in flight. HandedOut counts the items
	// that were handed out.
	Added, HandedOut uint64
	// Done, Dropped, Retried and Blocked count how items ended. Keep counts as Done; RetryAfter, Fail with a retry and a
	// panic count as Retried. Endings without effect, because the key was removed, are not counted.
	Done, Dropped, Retried, Blocked uint64
	// Panicked counts panics in the user's functions, including those given to Run.
	Panicked uint64
	// LastLateness is how long after it was due the last item was handed out; MaxLateness is the longest of these.
	LastLateness, MaxLateness time.Duration
	// LastError is the last error given to Fail or made from a panic, and LastErrorAt when that was; nil and zero if
	// there was none.
	LastError   error
	LastErrorAt time.Time
}

// Len returns how many items wait.
func (c *core[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[StateWaiting]
}

// Waiting returns the waiting keys in the order in which they are due, and of equal due times in that in which they were
// added; Get says more about each. It sorts them: O(n log n).
func (c *core[K, V]) Waiting() []K {
	c.mu.Lock()
	defer c.mu.Unlock()
	records := make([]*record[K, V], 0, c.counts[StateWaiting])
	for _, r := range c.records.All() {
		if r.state == StateWaiting {
			records = append(records, r)
		}
	}
	return inOrder(records)
}

// Stats returns the current Stats. O(1).
func (c *core[K, V]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Waiting, stats.InFlight, stats.Kept = c.counts[StateWaiting], c.out+c.exemptOut, c.counts[StateKept]
	return stats
}

// find returns the record of a known key, or nil; c.mu is held.
func (c *core[K, V]) find(key K) *record[K, V] {
	if r := c.records.Get(key); r != nil && r.state != 0 {
		return r
	}
	return nil
}

func (c *core[K, V]) status(r *record[K, V]) Status[V] {
	status := Status[V]{
		State: r.state, Value: r.value, Identity: r.identity,
		Added: c.time.Instant(r.added), Due: c.time.Instant(r.due),
	}
	if r.tried != nil {
		status.Attempts, status.LastError = int(r.tried.attempts), r.tried.err
	}
	return status
}
