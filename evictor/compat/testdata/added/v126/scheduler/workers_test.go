package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestDelayedWorkRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		queue := CreateWorkerQueue(func(context.Context, *WorkArgs) error {
			ran++
			return nil
		})
		defer queue.CancelAndWait()
		now := time.Now()
		queue.AddWork(context.Background(), NewWorkArgs("pod", "default"), now, now.Add(10*time.Second))
		queue.AddWork(context.Background(), NewWorkArgs("pod", "default"), now, now.Add(10*time.Second))
		time.Sleep(11 * time.Second) // of the bubble
		synctest.Wait()
		if ran != 1 {
			t.Error("ran", ran, "times")
		}
	})
}
