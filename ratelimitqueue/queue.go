package ratelimitqueue

import "golang.org/x/time/rate"

// Queue hands out the item that is due first, no faster than its rate. Most callers want [Queue.Add] first, then
// [Queue.Take] in a loop and [Queue.Next] for when to call it again.
//
// All methods are safe for concurrent use, also by holders. Memory is bounded by the known keys.
type Queue[K comparable, V any] struct {
	core[K, V]
	line *line[K, V]
}

// New returns an empty queue with a full bucket, or all faults of the configuration.
func New[K comparable, V any](config Config) (*Queue[K, V], error) {
	if err := joined(config.faults()); err != nil {
		return nil, err
	}
	q := new(Queue[K, V])
	q.start(config, nil)
	q.line = q.newLine(nil, 0)
	return q, nil
}

// Add is AddEntry with the other fields zero: a new key is due now, and a waiting one takes the new value.
func (q *Queue[K, V]) Add(key K, value V) State {
	return q.AddEntry(Entry[K, V]{Key: key, Value: value})
}

// AddEntry returns the state that the key was in. If that is Unknown, the item is added. If it is Waiting or InFlight, the
// entry's OnDuplicate decides. If it is Finished, nothing changes: Remove the key before.
func (q *Queue[K, V]) AddEntry(e Entry[K, V]) State {
	now := q.table.Read()
	defer q.table.Unlock()
	return q.add(&e, q.line, now)
}

// Take hands out the item that is due first and spends a token. Equal due times are served in the order of adding. It
// returns false if no item is due or there is no token. The caller becomes the item's holder and must end it.
func (q *Queue[K, V]) Take() (Item[K, V], bool) {
	now := q.table.Read()
	defer q.table.Unlock()
	return q.take(now)
}

// SetRate changes the rate, as in Config. The bucket keeps whole tokens and loses fractions. An unlimited bucket counts
// as full, a stopped one as empty: after a stop, the first item goes 1/rate later. The current rate
// changes nothing. Neither does an invalid one, which is an error.
func (q *Queue[K, V]) SetRate(limit rate.Limit) error {
	if err := checkRate(limit); err != nil {
		return err
	}
	now := q.table.Read()
	defer q.table.Unlock()
	q.setRate(q.line, limit, now)
	return nil
}

// Get returns the status of the key, or false if it is not known.
func (q *Queue[K, V]) Get(key K) (Status, bool) {
	q.table.Read()
	defer q.table.Unlock()
	s := q.table.Get(key)
	if s == nil {
		return Status{}, false
	}
	return q.status(s), true
}
