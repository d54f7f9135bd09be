//go:build go1.25

package tainteviction

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

const key = "default/a"

// TestAWorkerCancelsItself and no other: it does not run, and its key stays known until CancelWork.
func TestAWorkerCancelsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		q := CreateWorkerQueue(func(context.Context, time.Time, *WorkArgs) error {
			ran++
			return nil
		})
		defer q.CancelAndWait()
		start, args := time.Now(), NewWorkArgs("a", "default")
		q.AddWork(t.Context(), args, start, start.Add(time.Second))
		first := q.GetWorkerUnsafe(key)
		q.UpdateWork(t.Context(), args, start, start.Add(time.Second))
		require.Same(t, first, q.GetWorkerUnsafe(key))
		q.UpdateWork(t.Context(), args, start, start.Add(2*time.Second))
		first.Cancel()
		time.Sleep(time.Minute)
		require.Equal(t, 1, ran)
		require.Nil(t, q.GetWorkerUnsafe(key))

		q.AddWork(t.Context(), args, start, start.Add(time.Second))
		w := q.GetWorkerUnsafe(key)
		w.Cancel()
		time.Sleep(1000 * time.Hour)
		q.AddWork(t.Context(), args, start, start)
		require.Same(t, w, q.GetWorkerUnsafe(key))
		require.True(t, q.CancelWork(klog.Background(), key))
		require.False(t, q.CancelWork(klog.Background(), key))
		synctest.Wait()
		require.Equal(t, 1, ran)
		q.AddWork(t.Context(), args, start, start)
		synctest.Wait()
		require.Equal(t, 2, ran)
	})
}

// TestWorkThatPanics is tried again.
func TestWorkThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		q := CreateWorkerQueue(func(context.Context, time.Time, *WorkArgs) error {
			if ran++; ran == 1 {
				panic("is logged")
			}
			return nil
		})
		defer q.CancelAndWait()
		q.AddWork(t.Context(), NewWorkArgs("a", "default"), time.Now(), time.Now().Add(time.Second))
		time.Sleep(time.Minute)
		require.Equal(t, 2, ran)
		require.Nil(t, q.GetWorkerUnsafe(key))
	})
}
