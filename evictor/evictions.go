package evictor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/evictkit/evictkit/timedworker"
)

type (
	podWork = timedworker.Work[PodKey, eviction]
	podSet  = timedworker.Set[PodKey, eviction]
	podItem = timedworker.SnapshotItem[PodKey, eviction]
)

// evictions are the armed ones. Those that the API server has refused are tried again apart, by a few workers of their own, and so
// are those that belong with them: however many they are, the others do not wait for them.
type evictions struct {
	fresh, refused *podSet
}

// refusedShare is how many workers there are for each that tries again what was refused.
const refusedShare = 8

// newEvictions makes both sets. evict does the work, of which it is told whether it was put apart; refused says that it is to be
// tried again apart after wait.
func newEvictions(config timedworker.Config, evict func(_ context.Context, _ podWork, apart bool) (r timedworker.Result, wait time.Duration, refused bool)) (e *evictions, err error) {
	e = &evictions{}
	if e.fresh, err = timedworker.New(func(ctx context.Context, w podWork) timedworker.Result {
		r, wait, refused := evict(ctx, w, false)
		if refused && w.Held() {
			e.refused.ScheduleEntry(timedworker.Entry[PodKey, eviction]{Key: w.Key, Identity: w.Identity, Value: w.Value, Due: config.Clock.Now().Add(wait), OnDuplicate: timedworker.Replace})
		}
		return r
	}, config); err != nil {
		return nil, err
	}
	config.Workers = max(1, config.Workers/refusedShare)
	e.refused, err = timedworker.New(func(ctx context.Context, w podWork) timedworker.Result {
		r, wait, refused := evict(ctx, w, true)
		if refused {
			return timedworker.Blocked(wait)
		}
		return r
	}, config)
	return e, err
}

// Get returns what is known of a pod's eviction.
func (e *evictions) Get(key PodKey) (timedworker.Status[eviction], bool) {
	if st, ok := e.refused.Get(key); ok {
		return st, true
	}
	return e.fresh.Get(key)
}

// Schedule arms an eviction, or moves the one that is armed; read is a reading of the clock, and a zero due is at it.
func (e *evictions) Schedule(key PodKey, tp *trackedPod, why eviction, due, read time.Time) timedworker.ScheduleResult {
	set := e.fresh
	if _, ok := e.refused.Get(key); ok {
		set = e.refused
	}
	return set.ScheduleEntryAt(timedworker.Entry[PodKey, eviction]{Key: key, Identity: string(tp.uid), Value: why, Due: due, OnDuplicate: timedworker.Replace}, read)
}

// Cancel drops an eviction.
func (e *evictions) Cancel(key PodKey, tp *trackedPod) timedworker.CancelResult {
	fresh, refused := e.fresh.CancelIdentity(key, string(tp.uid)), e.refused.CancelIdentity(key, string(tp.uid))
	if refused != timedworker.NotFound {
		return refused
	}
	return fresh
}

// Len is how many are armed.
func (e *evictions) Len() int { return e.fresh.Len() + e.refused.Len() }

// NextAt is when one is due first, at a reading of the clock.
func (e *evictions) NextAt(now time.Time) (next time.Time, ok bool) {
	for _, set := range []*podSet{e.fresh, e.refused} {
		if t, some := set.NextAt(now); some {
			next, ok = earlier(next, ok, t)
		}
	}
	return next, ok
}

// Items are copies of all, in the order in which they are due.
func (e *evictions) Items() []podItem {
	items := append(e.fresh.Snapshot().Items, e.refused.Snapshot().Items...)
	slices.SortStableFunc(items, func(a, b podItem) int { return cmp.Compare(a.In, b.In) })
	return items
}
