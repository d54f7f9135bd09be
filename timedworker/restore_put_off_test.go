package timedworker_test

import (
	"context"
	"math"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/timedworker"
)

// KeepEarliest: "takes due time and value of the entry that asked for the earlier time. What counts is the time that an entry asked for,
// not the one to which a failed try has put the work off." Restore: "with the remaining times counted from now".
func TestRestoreOfWorkPutOffForever(t *testing.T) {
	for _, after := range []time.Duration{time.Hour, math.MaxInt64} {
		clk := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
		fn := func(context.Context, timedworker.Work[string, int]) timedworker.Result {
			return timedworker.RetryAfter(after)
		}
		one, _ := timedworker.New(fn, timedworker.Config{Clock: clk})
		one.Schedule("k", 1, clk.Now())
		if _, err := one.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
		s := one.Snapshot() // asked for now
		two, _ := timedworker.New(fn, timedworker.Config{Clock: clk})
		clk.SetTime(clk.Now().Add(3 * time.Second))
		if err := two.Restore(s); err != nil {
			t.Fatal(err)
		}
		two.ScheduleEntry(timedworker.Entry[string, int]{Key: "k", Value: 2, Due: clk.Now().Add(-time.Second), OnDuplicate: timedworker.KeepEarliest}) // asks for earlier
		if st, _ := two.Get("k"); st.Value != 2 {
			t.Errorf("put off by %v: the entry that asked for an earlier time is not taken: %+v", after, st)
		}
	}
}

// What asks again for the same time long ago does not bring a retry forward: not before a restart, and not after it.
func TestRestoreOfWorkAskedForLongAgo(t *testing.T) {
	longAgo := time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)
	for _, after := range []time.Duration{time.Hour, math.MaxInt64} {
		clk := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
		fn := func(context.Context, timedworker.Work[string, int]) timedworker.Result {
			return timedworker.RetryAfter(after)
		}
		one, _ := timedworker.New(fn, timedworker.Config{Clock: clk})
		asks := func(set *timedworker.Set[string, int], value int) timedworker.Status[int] {
			set.ScheduleEntry(timedworker.Entry[string, int]{Key: "k", Value: value, Due: longAgo, OnDuplicate: timedworker.KeepEarliest})
			status, _ := set.Get("k")
			return status
		}
		asks(one, 1)
		clk.SetTime(clk.Now().Add(3 * time.Second))
		if _, err := one.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
		two, _ := timedworker.New(fn, timedworker.Config{Clock: clk})
		if err := two.Restore(one.Snapshot()); err != nil {
			t.Fatal(err)
		}
		clk.SetTime(clk.Now().Add(3 * time.Second))
		for _, set := range []*timedworker.Set[string, int]{one, two} {
			if status := asks(set, 2); status.Value != 1 || !status.Due.After(clk.Now()) {
				t.Errorf("put off by %v: the entry that asked for the same time is taken: %+v", after, status)
			}
		}
	}
}
