// Package armed keeps armed evictions until they are due, in two sets of timed work. Evictions that the API server has
// refused, and others of the same group, are in a set of their own with a few workers: however many there are, the others
// do not wait for them. The package decides nothing, and has no lock but those of its sets.
package armed

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/evictkit/evictkit/timedworker"
)

// Evictions holds both sets. K is the slot of a pod, V an eviction.
type Evictions[K comparable, V any] struct {
	Fresh, Refused *timedworker.Set[K, V]

	pod func(V) (slot K, uid string)
}

// refusedShare divides the number of workers to give the number of those for refused evictions.
const refusedShare = 8

// New makes both sets. pod returns the slot and the UID of an eviction's pod. evict does the work; apart says that the
// eviction is in the refused set.
func New[K comparable, V any](
	config timedworker.Config, pod func(V) (slot K, uid string), evict func(_ context.Context, _ timedworker.Work[K, V], apart bool) timedworker.Result,
) (e *Evictions[K, V], err error) {
	work := func(apart bool) func(context.Context, timedworker.Work[K, V]) timedworker.Result {
		return func(ctx context.Context, w timedworker.Work[K, V]) timedworker.Result { return evict(ctx, w, apart) }
	}
	e = &Evictions[K, V]{pod: pod}
	if e.Fresh, err = timedworker.New(work(false), config); err != nil {
		return nil, err
	}
	config.Workers = max(1, config.Workers/refusedShare)
	e.Refused, err = timedworker.New(work(true), config)
	return e, err
}

// PutApart ends a try and schedules the eviction in the refused set, unless it was cancelled meanwhile.
func (e *Evictions[K, V]) PutApart(w timedworker.Work[K, V], at time.Time) timedworker.Result {
	if w.Held() {
		e.Refused.ScheduleEntry(e.entry(w.Value, at))
	}
	return timedworker.Forget()
}

func (e *Evictions[K, V]) entry(eviction V, due time.Time) timedworker.Entry[K, V] {
	slot, uid := e.pod(eviction)
	return timedworker.Entry[K, V]{Key: slot, Identity: uid, Value: eviction, Due: due}
}

// Schedule schedules an eviction for due, or moves it, and says whether that has changed anything but the eviction itself.
func (e *Evictions[K, V]) Schedule(eviction V, due time.Time) (changed bool) {
	entry, set := e.entry(eviction, due), e.Fresh
	if _, ok := e.Refused.Get(entry.Key); ok {
		set = e.Refused
	}
	was, _ := set.Get(entry.Key)
	set.ScheduleEntry(entry)
	return was.State != timedworker.Waiting || was.Identity != entry.Identity || !was.Due.Equal(due)
}

// Try schedules these evictions for now.
func (e *Evictions[K, V]) Try(list []V, now time.Time) {
	for _, eviction := range list {
		e.Schedule(eviction, now)
	}
}

// Sooner brings an eviction forward to at, if it waits for a later time.
func (e *Evictions[K, V]) Sooner(slot K, at time.Time) {
	Sooner(e.Fresh, slot, at)
	Sooner(e.Refused, slot, at)
}

// Sooner brings work forward to at, if it waits for a later time.
func Sooner[K comparable, V any](set *timedworker.Set[K, V], key K, at time.Time) {
	if st, ok := set.Get(key); ok && st.State == timedworker.Waiting && st.Due.After(at) {
		set.ScheduleEntry(timedworker.Entry[K, V]{Key: key, Value: st.Value, Due: at})
	}
}

// Cancel cancels the eviction of a pod, whichever set it is in.
func (e *Evictions[K, V]) Cancel(slot K, uid string) timedworker.State {
	fresh, refused := e.Fresh.CancelIdentity(slot, uid), e.Refused.CancelIdentity(slot, uid)
	if refused != timedworker.Unknown {
		return refused
	}
	return fresh
}

// Len returns how many evictions are armed.
func (e *Evictions[K, V]) Len() int {
	fresh, refused := e.Fresh.Stats(), e.Refused.Stats()
	return fresh.Waiting + fresh.InFlight + refused.Waiting + refused.InFlight
}

// Items returns copies of all, in the order in which they are due.
func (e *Evictions[K, V]) Items() []timedworker.SnapshotItem[K, V] {
	items := append(e.Fresh.Snapshot().Items, e.Refused.Snapshot().Items...)
	slices.SortStableFunc(items, func(a, b timedworker.SnapshotItem[K, V]) int { return cmp.Compare(a.In, b.In) })
	return items
}
