//go:build go1.25

package ratelimitqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, err := New[string, int](Config{Rate: 0.1})
		require.NoError(t, err)
		began := time.Now()
		var at []time.Duration
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- q.Run(ctx, func(_ context.Context, item Item[string, int]) {
				at = append(at, time.Since(began))
				if item.Key == "again" && item.Attempts == 0 {
					item.Retry(time.Second)
				}
			})
		}()
		time.Sleep(time.Second)
		q.Add("again", 0)
		q.Add("b", 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Second, 11 * time.Second, 21 * time.Second}, at)
		require.Equal(t, Held, q.Add("b", 0), "what fn did not settle is done")
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}
