package scheduler

import (
	"slices"
	"sort"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// TimedValue is a value that is to be processed at ProcessAt.
type TimedValue struct {
	Value string
	// UID may be anything that helps to identify the value.
	UID       any
	AddedAt   time.Time
	ProcessAt time.Time
}

// TimedQueue is a heap, see container/heap, whose first value is the one with the earliest ProcessAt.
type TimedQueue []*TimedValue

// Len implements heap.Interface.
func (h TimedQueue) Len() int { return len(h) }

// Less implements heap.Interface.
func (h TimedQueue) Less(i, j int) bool { return h[i].ProcessAt.Before(h[j].ProcessAt) }

// Swap implements heap.Interface.
func (h TimedQueue) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface: x is a *TimedValue.
func (h *TimedQueue) Push(x any) { *h = append(*h, x.(*TimedValue)) } //nolint:errcheck // as container/heap has it

// Pop implements heap.Interface.
func (h *TimedQueue) Pop() any {
	last := len(*h) - 1
	defer func() { *h = slices.Delete(*h, last, last+1) }()
	return (*h)[last]
}

// UniqueQueue holds values in the order of their ProcessAt, each once until it is removed. The zero UniqueQueue is empty. All
// methods are safe for concurrent use.
type UniqueQueue struct {
	mu    sync.Mutex
	queue TimedQueue       // sorted, which makes it a heap
	known sets.Set[string] // those of queue, and those that are kept in mind
}

// Add adds a value that is not known, and says whether it was not.
func (q *UniqueQueue) Add(value TimedValue) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known.Has(value.Value) {
		return false
	}
	if q.known == nil {
		q.known = sets.New[string]()
	}
	q.known.Insert(value.Value)
	q.put(&value)
	return true
}

// Replace replaces a value that is in the queue, and says whether it is.
func (q *UniqueQueue) Replace(value TimedValue) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	there := q.take(value.Value)
	if there {
		q.put(&value)
	}
	return there
}

// RemoveFromQueue takes a value out of the queue, and keeps it in mind, so that it is not added again. It says whether it was in
// the queue.
func (q *UniqueQueue) RemoveFromQueue(value string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(value)
}

// Remove forgets a value, and says whether it was known.
func (q *UniqueQueue) Remove(value string) (known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	known = q.known.Has(value)
	q.known.Delete(value)
	q.take(value)
	return known
}

// Get takes the first value out of the queue and forgets it; false when there is none.
func (q *UniqueQueue) Get() (first TimedValue, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if first, some = q.head(); some {
		q.known.Delete(first.Value)
		q.queue = slices.Delete(q.queue, 0, 1)
	}
	return first, some
}

// Head is the first value; false when there is none.
func (q *UniqueQueue) Head() (TimedValue, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head()
}

func (q *UniqueQueue) head() (TimedValue, bool) {
	if len(q.queue) == 0 {
		return TimedValue{}, false
	}
	return *q.queue[0], true
}

// Clear forgets all values.
func (q *UniqueQueue) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue, q.known = nil, nil
}

func (q *UniqueQueue) put(value *TimedValue) {
	i := sort.Search(len(q.queue), func(i int) bool { return q.queue[i].ProcessAt.After(value.ProcessAt) })
	q.queue = slices.Insert(q.queue, i, value)
}

func (q *UniqueQueue) take(value string) bool {
	i := slices.IndexFunc(q.queue, func(v *TimedValue) bool { return v.Value == value })
	if i >= 0 {
		q.queue = slices.Delete(q.queue, i, i+1)
	}
	return i >= 0
}
