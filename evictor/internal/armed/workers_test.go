//go:build go1.25

package armed

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/timedworker"
)

// TestOneWorkerInEightTriesWhatWasRefused, at least one.
func TestOneWorkerInEightTriesWhatWasRefused(t *testing.T) {
	for workers, apart := range map[int]int{1: 1, 8: 1, 15: 1, 16: 2, 24: 3} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var e *Evictions[int, int]
			var running atomic.Int32
			hung := make(chan struct{})
			e, err := New(timedworker.Config{Workers: workers}, func(slot int) (int, string) { return slot, "" }, func(_ context.Context, w timedworker.Work[int, int], apart bool) timedworker.Result {
				if !apart {
					return e.PutApart(w, time.Now())
				}
				running.Add(1)
				<-hung
				return timedworker.Forget()
			})
			require.NoError(t, err)
			ended := make(chan error)
			for _, set := range []*timedworker.Set[int, int]{e.Fresh, e.Refused} {
				go func() { ended <- set.Run(ctx) }()
			}
			for slot := range 10 {
				e.Schedule(slot, time.Now())
				synctest.Wait()
			}
			require.EqualValues(t, apart, running.Load(), "of %d workers", workers)
			require.Equal(t, 10, e.Len(), "what runs, too")
			close(hung)
			synctest.Wait()
			require.Zero(t, e.Len())
			cancel()
			<-ended
			<-ended
		})
	}
}
