// Package scheduler has the names of upstream's queue that its tests use which look into it, on ratelimitqueue. What they look
// at is made anew after each change.
package scheduler

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/evictkit/evictkit/evictor/compat/scheduler"
	"github.com/evictkit/evictkit/ratelimitqueue"
)

var now = time.Now

type (
	TimedValue = scheduler.TimedValue
	TimedQueue []*TimedValue
	reading    struct{}
)

func (reading) Now() time.Time                  { return now() }
func (reading) Since(t time.Time) time.Duration { return now().Sub(t) }

type UniqueQueue struct {
	q     *ratelimitqueue.Queue[string, TimedValue]
	queue TimedQueue
	set   sets.Set[string]
}

func (u *UniqueQueue) its() *ratelimitqueue.Queue[string, TimedValue] {
	if u.q == nil {
		u.q, _ = ratelimitqueue.New[string, TimedValue](ratelimitqueue.Config{Rate: rate.Inf, Clock: reading{}})
	}
	return u.q
}

func (u *UniqueQueue) show() {
	u.queue, u.set = nil, sets.New(u.its().Waiting()...)
	for _, key := range u.its().Waiting() {
		u.queue = append(u.queue, &TimedValue{Value: key})
	}
}

func (u *UniqueQueue) Add(v TimedValue) bool {
	defer u.show()
	entry := ratelimitqueue.Entry[string, TimedValue]{Key: v.Value, Value: v, Due: v.ProcessAt, OnDuplicate: ratelimitqueue.KeepFirst}
	return u.its().AddEntry(entry) == ratelimitqueue.Unknown
}

func (u *UniqueQueue) Get() (TimedValue, bool) {
	defer u.show()
	item, ok := u.its().Take()
	if ok {
		item.Done()
	}
	return item.Value, ok
}

type RateLimitedTimedQueue struct{ queue UniqueQueue }

func NewRateLimitedTimedQueue(flowcontrol.RateLimiter) *RateLimitedTimedQueue {
	return &RateLimitedTimedQueue{}
}

func (r *RateLimitedTimedQueue) Add(value string, uid any) bool {
	return r.queue.Add(TimedValue{Value: value, UID: uid, ProcessAt: now()})
}

func (r *RateLimitedTimedQueue) Remove(value string) bool {
	defer r.queue.show()
	return r.queue.its().Remove(value) != ratelimitqueue.Unknown
}

func (r *RateLimitedTimedQueue) Clear() {
	defer r.queue.show()
	r.queue.its().Clear()
}
