package ratelimitqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Status is a copy of what is known of one key.
type Status[V any] struct {
	State      State
	Value      V
	Identity   string
	Added, Due time.Time
	Attempts   int
}

// Get returns what is known of the key.
func (q *Queue[K, V]) Get(key K) (Status[V], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, ok := q.index.Find(key)
	if !ok || q.records[i].state == 0 {
		return Status[V]{}, false
	}
	r := &q.records[i]
	return Status[V]{State: r.state, Value: r.value, Identity: r.identity, Added: q.time(r.added), Due: q.time(r.dueAt), Attempts: int(r.attempts)}, true
}

// Len is how many items wait.
func (q *Queue[K, V]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.due.Len()
	for i := range q.waiters {
		if q.records[i].state == StateQueued {
			n++
		}
	}
	return n
}

// SnapshotItem is one known key. Waited and In are times from the snapshot, not instants, so that they
// can be restored by another process.
type SnapshotItem[K comparable, V any] struct {
	Key      K             `json:"key"`
	Value    V             `json:"value"`
	Identity string        `json:"identity,omitempty"`
	State    State         `json:"state"`
	Waited   time.Duration `json:"waited"`
	In       time.Duration `json:"in"`
	Attempts int           `json:"attempts,omitempty"`
}

// Snapshot returns every known key, in the order in which the waiting ones are due; those in flight and
// held come where their due time was.
func (q *Queue[K, V]) Snapshot() []SnapshotItem[K, V] {
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.tick(clockNow)
	var numbers []int32
	for i := range q.records {
		if q.records[i].state != 0 {
			numbers = append(numbers, int32(i))
		}
	}
	slices.SortFunc(numbers, func(a, b int32) int {
		x, y := &q.records[a], &q.records[b]
		if c := cmp.Compare(x.dueAt, y.dueAt); c != 0 {
			return c
		}
		return cmp.Compare(int32(x.seq-y.seq), 0)
	})
	items := make([]SnapshotItem[K, V], len(numbers))
	for n, i := range numbers {
		r := &q.records[i]
		items[n] = SnapshotItem[K, V]{
			Key: q.index.Key(i), Value: r.value, Identity: r.identity, State: r.state,
			Waited: time.Duration(now - r.added), In: time.Duration(r.dueAt - now), Attempts: int(r.attempts),
		}
	}
	return items
}

// Restore adds the items of a snapshot to a queue that knows none of them. What was in flight waits
// again, because nobody holds it any more. A key that is known or comes twice is an error, and then
// nothing is changed.
func (q *Queue[K, V]) Restore(items []SnapshotItem[K, V]) error {
	clockNow := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	seen := make(map[K]struct{}, len(items))
	for _, it := range items {
		_, known := q.index.Find(it.Key)
		_, twice := seen[it.Key]
		seen[it.Key] = struct{}{}
		if known || twice || it.State == 0 || it.State > StateHeld {
			return fmt.Errorf("ratelimitqueue: cannot restore key %v: it is known already, twice in the snapshot, or in no valid state", it.Key)
		}
	}
	now := q.tick(clockNow)
	for _, it := range items {
		i, _ := q.index.Insert(it.Key)
		if int(i) == len(q.records) {
			q.records = append(q.records, record[V]{})
		}
		q.fresh(i, Entry[K, V]{Key: it.Key, Value: it.Value, Identity: it.Identity}, now-int64(it.Waited), later(now, it.In))
		r := &q.records[i]
		r.attempts = int32(it.Attempts)
		if it.State == StateHeld {
			r.state = StateHeld
			q.due.Remove(i)
		}
	}
	return nil
}

// later adds without overflow.
func later(now int64, d time.Duration) int64 {
	if sum := now + int64(d); d < 0 || sum >= now {
		return sum
	}
	return 1<<63 - 1
}

// Run hands items to fn one after the other, as they can be taken, until the context ends; then it
// returns the context's error. An item that fn neither retried nor dropped is done when fn returns. It
// needs a clock with timers. Several Runs, and Take beside them, share the rate. A panic of fn passes
// through, and its item stays in flight.
func (q *Queue[K, V]) Run(ctx context.Context, fn func(context.Context, Item[K, V])) error {
	timers, ok := q.clock.(clock.Clock)
	if !ok {
		return errors.New("ratelimitqueue: Run needs a clock with timers")
	}
	defer q.kick() // this Run may be the only one that knew when to look
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if item, ok := q.Take(); ok {
			q.kick() // what is left is for a Run that is idle
			fn(ctx, item)
			item.Done() // void when fn has settled it
			continue
		}
		next, ok := q.Next()
		if !ok {
			select {
			case <-ctx.Done():
			case <-q.wake:
			}
			continue
		}
		timer := timers.NewTimer(max(next.Sub(timers.Now()), 0))
		select {
		case <-ctx.Done():
		case <-q.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}
