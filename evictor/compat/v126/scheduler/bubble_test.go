//go:build go1.25

package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWorkThatSucceededIsForgotten: a pod that takes over the name is evicted, too, though nobody saw the first one go.
func TestWorkThatSucceededIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		q := CreateWorkerQueue(func(context.Context, *WorkArgs) error {
			ran++
			return nil
		})
		for range 3 {
			q.AddWork(t.Context(), NewWorkArgs("a", "default"), time.Now(), time.Now().Add(time.Minute))
			time.Sleep(time.Hour)
		}
		require.Equal(t, 3, ran)
		q.CancelAndWait()
	})
}
