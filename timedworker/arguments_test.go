package timedworker

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testingclock "k8s.io/utils/clock/testing"
)

// No argument panics with the lock held.
func TestNoArgumentLeavesTheLockHeld(t *testing.T) {
	for _, key := range []any{1.0, math.NaN(), math.Inf(1), []int{}} {
		for _, far := range []time.Duration{math.MaxInt64, math.MinInt64} {
			s, err := New(func(context.Context, Work[any, int]) Result { return Blocked(far) }, Config{Clock: testingclock.NewFakeClock(epoch)})
			require.NoError(t, err)
			for _, call := range []func(){
				func() { s.Schedule("k", 1, epoch) },
				func() { s.Schedule(key, 1, time.Unix(int64(far), 0)) },
				func() { s.ScheduleEntry(Entry[any, int]{Key: key, Due: epoch.Add(far), OnDuplicate: Duplicate(255)}) },
				func() { _, _ = s.Step(context.Background()) },
				func() { s.All() },
				func() { s.Next() },
				func() { s.Get(key) },
				func() { s.Cancel(key) },
			} {
				func() {
					defer func() { _ = recover() }()
					call()
				}()
				require.True(t, s.table.TryLock(), "%v %v", key, far)
				s.table.Unlock()
			}
			require.NotPanics(t, func() { s.All() })
		}
	}
}
