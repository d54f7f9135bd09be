package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
)

func always() *RateLimitedTimedQueue {
	return NewRateLimitedTimedQueue(flowcontrol.NewFakeAlwaysRateLimiter())
}

// tried is what a Try hands out, with what the function answers to each.
func tried(q *RateLimitedTimedQueue, fn func(TimedValue) (bool, time.Duration)) (values []any) {
	q.Try(klog.Background(), func(v TimedValue) (bool, time.Duration) {
		values = append(values, fmt.Sprint(v.Value, " ", v.UID))
		return fn(v)
	})
	return values
}

func yes(TimedValue) (bool, time.Duration) { return true, 0 }

// A fork changes the import.
func ExampleRateLimitedTimedQueue() {
	q := NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(0.1, 1))
	q.Add("node-1", "uid-1")
	q.Add("node-1", "uid-1")
	q.Add("node-2", "uid-2")
	for range 2 {
		q.Try(klog.Background(), func(v TimedValue) (bool, time.Duration) {
			fmt.Println("tainting", v.Value)
			return true, 0
		})
	}
	fmt.Println(q.Add("node-1", "uid-1"), q.Remove("node-1"), q.Add("node-1", "uid-1"))
	// Output:
	// tainting node-1
	// false true true
}

// TestRemovedAndAddedMeanwhile: it has a turn of its own, with its own UID.
func TestRemovedAndAddedMeanwhile(t *testing.T) {
	for _, done := range []bool{true, false} {
		q := always()
		require.True(t, q.Add("a", 1))
		require.Equal(t, []any{"a 1", "a 2"}, tried(q, func(v TimedValue) (bool, time.Duration) {
			if v.UID == 1 {
				require.True(t, q.Remove("a"))
				require.True(t, q.Add("a", 2))
				return done, 0
			}
			return true, 0
		}))
		require.Empty(t, tried(q, yes))
	}
}

// TestSwapLimiterWithinTry, and whatever rate comes after a stop.
func TestSwapLimiterWithinTry(t *testing.T) {
	q := always()
	q.Add("a", 1)
	q.Add("b", 1)
	require.Equal(t, []any{"a 1"}, tried(q, func(TimedValue) (bool, time.Duration) {
		q.SwapLimiter(0)
		return true, 0
	}))
	q.SwapLimiter(0)
	require.Empty(t, tried(q, yes))
	q.SwapLimiter(1)
	require.InEpsilon(t, 1, q.limiter.QPS(), 1e-9)
	require.False(t, q.limiter.TryAccept(), "a stop saves up nothing")
	q.limiter = flowcontrol.NewFakeAlwaysRateLimiter()
	require.Equal(t, []any{"b 1"}, tried(q, yes))
}

func TestEqualTimesFirstComeFirstServed(t *testing.T) {
	defer func() { now = time.Now }()
	now = func() time.Time { return time.Unix(1, 0) }
	q, want := always(), []any{}
	for i := range 20 {
		q.Add(fmt.Sprint(i), i)
		want = append(want, fmt.Sprint(i, " ", i))
	}
	require.Equal(t, want, tried(q, yes))
	q.Clear()
	require.True(t, q.Add("0", 0))
}

// TestAgainAfterThatTime, counted from the beginning of the try, though Add reads the clock during it.
func TestAgainAfterThatTime(t *testing.T) {
	defer func() { now = time.Now }()
	at := time.Unix(100, 0)
	now = func() time.Time { return at }
	q := always()
	q.Add("a", 1)
	slow := func(TimedValue) (bool, time.Duration) {
		at = at.Add(3 * time.Second) // an API call
		q.Add("a", 1)
		return false, 5 * time.Second
	}
	require.Equal(t, []any{"a 1"}, tried(q, slow))
	at = time.Unix(105, 0)
	require.Empty(t, tried(q, yes), "a nanosecond early")
	at = at.Add(1)
	require.Equal(t, []any{"a 1"}, tried(q, func(v TimedValue) (bool, time.Duration) {
		require.Equal(t, at, v.ProcessAt)
		return true, 0
	}))
}

// A function that panics leaves its value where it was, and nothing locked.
func TestPanicWithinTry(t *testing.T) {
	q := always()
	q.Add("a", 1)
	require.Panics(t, func() { tried(q, func(TimedValue) (bool, time.Duration) { panic("a") }) })
	require.Equal(t, []any{"a 1"}, tried(q, yes))
}
