//go:build go1.25

package limiter

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/ratelimitqueue"
)

// A rate of 0 stops from the start, whoever waits notices a change of the rate, and callers go in their order.
func TestLimiterWhoseRateChangesWhileWorkersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := New(ratelimitqueue.Config{})
		require.NoError(t, err)
		began, went := time.Now(), make(chan int, 10)
		for i := range 3 {
			go func() {
				if l.Wait(context.Background()) == nil {
					went <- i
				}
			}()
			synctest.Wait()
		}
		gone, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		require.ErrorIs(t, l.Wait(gone), context.DeadlineExceeded)
		require.Empty(t, went)
		require.NoError(t, l.SetRate(0.5))
		require.Equal(t, 0, <-went)
		require.Equal(t, time.Hour+2*time.Second, time.Since(began))
		require.NoError(t, l.SetRate(0))
		time.Sleep(time.Hour)
		require.Empty(t, went)
		require.NoError(t, l.SetRate(rate.Inf))
		require.Equal(t, 1, <-went)
		require.Equal(t, 2, <-went)
		require.Equal(t, 2*time.Hour+2*time.Second, time.Since(began))
		cancel()
		require.ErrorIs(t, l.Wait(gone), context.DeadlineExceeded)
	})
}
