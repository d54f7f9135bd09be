package evictor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/timedworker"
)

type (
	podSet  = timedworker.Set[PodKey, *pods.Eviction]
	podWork = timedworker.Work[PodKey, *pods.Eviction]
	podItem = timedworker.SnapshotItem[PodKey, *pods.Eviction]
)

// evictions are the armed ones. Those that the API server has refused are tried again apart, by a few workers of their own, and so
// are those that belong with them: however many they are, the others do not wait for them.
type evictions struct {
	fresh, refused *podSet
}

// refusedShare is how many workers there are for each that tries again what was refused.
const refusedShare = 8

// newEvictions makes both sets. evict does the work, of which it is told whether it was put apart.
func newEvictions(config timedworker.Config, evict func(_ context.Context, _ podWork, apart bool) timedworker.Result) (e *evictions, err error) {
	work := func(apart bool) func(context.Context, podWork) timedworker.Result {
		return func(ctx context.Context, w podWork) timedworker.Result { return evict(ctx, w, apart) }
	}
	e = &evictions{}
	if e.fresh, err = timedworker.New(work(false), config); err != nil {
		return nil, err
	}
	config.Workers = max(1, config.Workers/refusedShare)
	e.refused, err = timedworker.New(work(true), config)
	return e, err
}

// putApart ends a try of what is to be tried again at that time, apart.
func (e *evictions) putApart(w podWork, at time.Time) timedworker.Result {
	if w.Held() {
		e.refused.ScheduleEntry(entry(w.Value, at))
	}
	return timedworker.Done()
}

func entry(ev *pods.Eviction, due time.Time) timedworker.Entry[PodKey, *pods.Eviction] {
	pod := ev.Pod()
	return timedworker.Entry[PodKey, *pods.Eviction]{Key: PodKey(pod.Key), Identity: string(pod.UID), Value: ev, Due: due, OnDuplicate: timedworker.Replace}
}

// Schedule has an eviction tried at that time, also where it is to be tried at another; read is a reading of the clock, and a
// zero due is at it.
func (e *evictions) Schedule(ev *pods.Eviction, due, read time.Time) timedworker.ScheduleResult {
	set := e.fresh
	if _, ok := e.refused.Get(PodKey(ev.Pod().Key)); ok {
		set = e.refused
	}
	return set.ScheduleEntryAt(entry(ev, due), read)
}

// Try has them tried now, at a reading of the clock.
func (e *evictions) Try(list []*pods.Eviction, read time.Time) {
	for _, ev := range list {
		e.Schedule(ev, time.Time{}, read)
	}
}

// Sooner brings one that waits for later forward to that time.
func (e *evictions) Sooner(key PodKey, at time.Time) {
	for _, set := range []*podSet{e.fresh, e.refused} {
		sooner(set, key, at)
	}
}

// Cancel drops an eviction.
func (e *evictions) Cancel(pod pods.Ref) timedworker.CancelResult {
	fresh, refused := e.fresh.CancelIdentity(PodKey(pod.Key), string(pod.UID)), e.refused.CancelIdentity(PodKey(pod.Key), string(pod.UID))
	if refused != timedworker.NotFound {
		return refused
	}
	return fresh
}

// Len is how many are armed.
func (e *evictions) Len() int {
	fresh, refused := e.fresh.Stats(), e.refused.Stats()
	return fresh.Waiting + fresh.Running + refused.Waiting + refused.Running
}

// Items are copies of all, in the order in which they are due.
func (e *evictions) Items() []podItem {
	items := append(e.fresh.Snapshot().Items, e.refused.Snapshot().Items...)
	slices.SortStableFunc(items, func(a, b podItem) int { return cmp.Compare(a.In, b.In) })
	return items
}
