package ratelimitqueue

// Queue holds unique items in the order in which they are due, and hands them out no faster than its rate. Most
// callers want [Queue.Add] first, then [Queue.Take] in a loop and [Queue.Next] for when to call it again;
// [Queue.SetRate] changes the rate at any moment.
//
// All methods are safe for concurrent use, also by holders. Memory is bounded by the keys that wait, are in flight or
// are finished. A Queue must be made by New and not be copied.
type Queue[K comparable, V any] struct {
	core[K, V]
	line *line[K, V]
}

// New returns an empty queue with a full bucket, or an error with all faults of the configuration. It starts no
// goroutine.
func New[K comparable, V any](config Config) (*Queue[K, V], error) {
	if err := joined(config.faults()); err != nil {
		return nil, err
	}
	q := new(Queue[K, V])
	q.start(config, nil)
	q.line = q.newLine(nil, 0)
	q.line.stays = true
	return q, nil
}

// Add adds the key, due now, as AddEntry does with the other fields zero. A key that waits, for a retry too, takes the
// new value and keeps its due time.
func (q *Queue[K, V]) Add(key K, value V) State {
	return q.AddEntry(Entry[K, V]{Key: key, Value: value})
}

// AddEntry adds an item, which waits until it is due and a token is available, and returns the state that the key was in:
//
//   - Unknown: the item is added.
//   - Waiting or InFlight: the entry's OnDuplicate decides.
//   - Finished: nothing changes. Remove the key first if you want it handed out again.
func (q *Queue[K, V]) AddEntry(e Entry[K, V]) State {
	now := q.table.Read()
	defer q.table.Unlock()
	return q.add(&e, q.line, now)
}

// Take hands out the item that is due first and spends one token. It returns false if no item is due or there is no
// token; then no token is spent. Equal due times are served in the order of adding. The caller becomes the item's holder
// and must end it.
func (q *Queue[K, V]) Take() (Item[K, V], bool) {
	now := q.table.Read()
	defer q.table.Unlock()
	return q.take(now)
}

// SetRate changes the rate, in items a second; 0 stops, and Unlimited is allowed. Setting the current rate changes
// nothing. The bucket keeps whole tokens and loses fractions. An unlimited bucket counts as full, a stopped one as empty:
// after a stop, the first item is handed out 1/rate later. An invalid rate is an error and changes nothing.
func (q *Queue[K, V]) SetRate(rate float64) error {
	if err := checkRate(rate); err != nil {
		return err
	}
	now := q.table.Read()
	defer q.table.Unlock()
	q.setRate(q.line, rate, now)
	return nil
}

// Get returns the status of the key, or false if it is not known.
func (q *Queue[K, V]) Get(key K) (Status, bool) {
	q.table.Lock()
	defer q.table.Unlock()
	s := q.table.Get(key)
	if s == nil {
		return Status{}, false
	}
	return q.status(s), true
}
