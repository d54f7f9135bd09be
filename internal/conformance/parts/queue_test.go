package parts

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"

	"github.com/evictkit/evictkit/internal/conformance/differential"
	"github.com/evictkit/evictkit/ratelimitqueue"
)

// queues are both queues. They get the same operations.
type queues struct {
	*testing.T
	*script
	fired    fired
	ours     *ratelimitqueue.Queue[string, string] // values are UIDs
	rate     float32
	token    time.Time // when ours has or had the next one, if an item waited for it
	upstream *scheduler.RateLimitedTimedQueue
	steady   bool              // the rate does not change, and nothing is added or removed while an item is handed out
	retried  map[string]bool   // keys that wait for a retry
	uids     map[string]string // of the keys that ours knows
	requeued map[string]bool   // keys that firstCome queued again, so that the time when they were added is lost
}

func newQueues(t *testing.T, s *script, f fired) *queues {
	q := &queues{T: t, script: s, fired: f, steady: s.oneIn(4), retried: map[string]bool{}, requeued: map[string]bool{}, uids: map[string]string{}}
	qps, burst := pick[float32](s, 0.1, 0.5, 1, 10, 0), scheduler.EvictionRateLimiterBurst
	if q.steady {
		qps, burst = pick[float32](s, 0.5, 10), 3
	}
	var err error
	q.ours, err = ratelimitqueue.New[string, string](ratelimitqueue.Config{Rate: rate.Inf, Burst: burst})
	require.NoError(t, err)
	q.rate = qps
	require.NoError(t, q.ours.SetRate(rate.Limit(qps))) // 0 is valid here
	q.upstream = scheduler.NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(qps, burst))
	if qps == 0 { // the first token, which upstream hands out in spite of the rate
		q.upstream.Add("probe", "")
		q.upstream.Try(logr.Discard(), func(scheduler.TimedValue) (bool, time.Duration) {
			q.fired[differential.RateZero]++
			return true, 0
		})
		q.upstream.Remove("probe")
	}
	return q
}

func runQueues(t *testing.T, s *script, f fired) {
	q := newQueues(t, s, f)
	for !s.over() {
		switch s.below(10) {
		case 0, 1, 2:
			q.add(key(s.below(6)), q.uid())()
		case 3:
			q.remove(key(s.below(6)))()
		case 4, 5:
			q.try()
		case 6:
			if !q.steady {
				q.setRate(pick[float32](s, 0.1, 0.5, 1, 10, 0, 0))
			}
		case 7:
			if s.oneIn(4) {
				q.clear()
			}
		default:
			q.sleep()
		}
	}
	if q.rate == 0 {
		q.setRate(10)
	}
	for q.ours.Len() > 0 {
		next, ok := q.ours.Next()
		require.True(t, ok)
		q.foresee()
		time.Sleep(time.Until(next))
		q.try()
	}
	time.Sleep(time.Hour)
	q.try() // upstream has none left either
}

func (q *queues) uid() string {
	if q.steady {
		return "first"
	}
	return pick(q.script, "first", "first", "first", "second")
}

// apart keeps away from the instants of tokens, which upstream's limiter rounds by a nanosecond.
func (q *queues) apart() {
	q.foresee()
	if q.rate == 0 || q.token.IsZero() {
		return
	}
	period := time.Duration(float64(time.Second) / float64(q.rate))
	if near := (time.Since(q.token) + time.Nanosecond) % period; 0 <= near && near <= 2 {
		time.Sleep(3 * time.Nanosecond)
	}
}

// foresee notes when the token comes for which the first item waits.
func (q *queues) foresee() {
	_, due, ok := q.head()
	if next, some := q.ours.Next(); ok && some && next.After(time.Now()) && !next.Equal(due) {
		q.token = next
	}
}

func (q *queues) sleep() {
	q.foresee()
	next, ok := q.ours.Next()
	if wait := time.Until(next); ok && wait > 0 && q.oneIn(2) {
		time.Sleep(wait - pick(q.script, 0, time.Nanosecond))
		return
	}
	q.script.sleep(time.Nanosecond, 100*time.Millisecond, time.Second, 7*time.Second)
}

// add adds to upstream at once, and returns what adds to ours.
func (q *queues) add(key, uid string) func() {
	added := q.upstream.Add(key, uid)
	return func() {
		result := q.ours.AddEntry(ratelimitqueue.Entry[string, string]{Key: key, Value: uid, OnDuplicate: ratelimitqueue.KeepFirst})
		require.Equal(q, added, result == ratelimitqueue.Unknown, result)
		if added {
			q.uids[key] = uid
			q.fresh(key)
		}
	}
}

// again makes upstream forget the key and adds it again.
func (q *queues) again(key, uid string) {
	require.True(q, q.upstream.Remove(key))
	require.True(q, q.upstream.Add(key, uid))
	q.fresh(key)
}

func (q *queues) fresh(key string) {
	delete(q.retried, key)
	delete(q.requeued, key)
}

func (q *queues) remove(key string) func() {
	removed := q.upstream.Remove(key)
	return func() { require.Equal(q, removed, q.ours.Remove(key) != ratelimitqueue.Unknown) }
}

func (q *queues) clear() {
	q.upstream.Clear()
	q.ours.Clear()
}

func (q *queues) setRate(qps float32) {
	q.apart()
	stopped := q.rate == 0
	q.rate = qps
	require.NoError(q, q.ours.SetRate(rate.Limit(qps)))
	q.upstream.SwapLimiter(qps)
	if stopped && qps == 1 { // upstream takes this for the rate that it has
		q.fired[differential.RateOne]++
		q.upstream.SwapLimiter(2)
		q.upstream.SwapLimiter(1)
	}
}

// RateOne and AddedInFlight align upstream before a difference shows, so this test shows it.
func TestUpstreamsQueueStillLosesAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := scheduler.NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(10, 1))
		tries := 0
		try := func(between func()) {
			time.Sleep(time.Minute)
			q.Try(logr.Discard(), func(scheduler.TimedValue) (bool, time.Duration) {
				tries++
				between()
				return true, 0
			})
		}
		q.Add("a", "")
		try(func() { q.Remove("a"); q.Add("a", "") })
		try(func() {})
		require.Equal(t, 1, tries, "the second a is lost")
		q.Add("b", "")
		q.SwapLimiter(0)
		q.SwapLimiter(1)
		try(func() {})
		require.Equal(t, 1, tries, "it is still stopped")
		q.SwapLimiter(2)
		try(func() {})
		require.Equal(t, 2, tries)
	})
}

func TestQueueIsUpstreams(t *testing.T) {
	f := fired{}
	inBubbles(t, 1500, 600, func(t *testing.T, s *script) { runQueues(t, s, f) })
	f.requireAll(t, queueRules...)
}

func FuzzQueue(f *testing.F) { fuzzInBubbles(f, runQueues) }
