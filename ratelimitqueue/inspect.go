package ratelimitqueue

import "time"

// Status is a copy of what is known of one key.
type Status[V any] struct {
	State      State
	Value      V
	Identity   string
	Added, Due time.Time
	// Attempts is how many tries failed, LastError what the last one was ended with by Fail, if it was.
	Attempts  int
	LastError error
}

// Stats is what a queue or a group holds now, and what it has done since it was made.
type Stats struct {
	// Waiting and Kept are how many keys wait and are kept; InFlight is how many holders have not ended, those
	// included whose work was called off.
	Waiting, InFlight, Kept int
	// Added is how often something new was taken in: what was not known, what is to have another turn, what was restored.
	// HandedOut is how many items were.
	Added, HandedOut uint64
	// Done, Dropped, Retried and Blocked are how many ended so: Done with Keep, Retried with RetryAfter, Fail and
	// panics. What was said after the work was called off is not counted.
	Done, Dropped, Retried, Blocked uint64
	// Panicked is how many functions of the user did, what Run runs among them.
	Panicked uint64
	// LastLateness is how long after it was due the last item was handed out, MaxLateness the longest of these.
	LastLateness, MaxLateness time.Duration
	// LastError is the last one given to Fail, or that of a panic, and LastErrorAt when that was; nil and zero if there
	// was none.
	LastError   error
	LastErrorAt time.Time
}

// Len is how many items wait.
func (c *core[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[StateWaiting]
}

// Stats returns what there is and what was done. It costs nothing that grows.
func (c *core[K, V]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Waiting, stats.InFlight, stats.Kept = c.counts[StateWaiting], c.out+c.exemptOut, c.counts[StateKept]
	return stats
}

// find returns the record of a known key; c.mu is held.
func (c *core[K, V]) find(key K) (i int32, r *record[V], ok bool) {
	if i, ok = c.index.Find(key); !ok {
		return 0, nil, false
	}
	r = c.records.At(i)
	return i, r, r.state != 0
}

func (c *core[K, V]) status(r *record[V]) Status[V] {
	status := Status[V]{
		State: r.state, Value: r.value, Identity: r.identity,
		Added: c.time.Instant(r.added), Due: c.time.Instant(r.due),
	}
	if r.tried != nil {
		status.Attempts, status.LastError = int(r.tried.attempts), r.tried.err
	}
	return status
}
