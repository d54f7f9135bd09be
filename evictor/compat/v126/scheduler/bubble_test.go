//go:build go1.25

package scheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const key = "default/a"

// counted is a queue whose work takes a minute and counts, in a bubble.
type counted struct {
	*TimedWorkerQueue
	ran int
	err error // what the work returns
}

func inBubble(t *testing.T, test func(t *testing.T, q *counted)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := &counted{}
		q.TimedWorkerQueue = CreateWorkerQueue(func(context.Context, *WorkArgs) error {
			q.ran++
			time.Sleep(time.Minute)
			return q.err
		})
		defer q.CancelAndWait()
		test(t, q)
	})
}

// after adds work that is due after a time, and waits for as long and half a minute more.
func (q *counted) after(t *testing.T, wait time.Duration) {
	q.AddWork(t.Context(), NewWorkArgs("a", "default"), time.Now(), time.Now().Add(wait))
	time.Sleep(wait + 30*time.Second)
	synctest.Wait()
}

// TestWorkThatSucceededIsKnown until CancelWork: adding it again does nothing.
func TestWorkThatSucceededIsKnown(t *testing.T) {
	for _, wait := range []time.Duration{-1, 0, time.Minute} {
		inBubble(t, func(t *testing.T, q *counted) {
			for range 3 {
				q.after(t, wait)
				time.Sleep(time.Hour)
			}
			require.Equal(t, 1, q.ran)
			require.Nil(t, q.GetWorkerUnsafe(key))
			require.False(t, q.CancelWork(key), "nothing waits")
			q.after(t, wait)
			require.Equal(t, 2, q.ran)
		})
	}
}

func TestWorkThatFailedIsForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T, q *counted) {
		q.err = errors.New("is logged")
		for range 3 {
			q.after(t, time.Minute)
			time.Sleep(time.Hour)
		}
		require.Equal(t, 3, q.ran)
	})
}

// TestCancelledWhileItRuns: work that then succeeds is known, as upstream, but no work that was added meanwhile is lost.
func TestCancelledWhileItRuns(t *testing.T) {
	for _, again := range []bool{false, true} {
		inBubble(t, func(t *testing.T, q *counted) {
			q.after(t, time.Minute)
			require.Equal(t, 1, q.ran)
			require.NotNil(t, q.GetWorkerUnsafe(key))
			require.True(t, q.CancelWork(key))
			require.Nil(t, q.GetWorkerUnsafe(key))
			if again {
				q.after(t, time.Hour)
				require.Equal(t, 2, q.ran)
			}
			time.Sleep(time.Hour)
			was := q.ran
			q.after(t, 0)
			require.Equal(t, was, q.ran, "it is known")
		})
	}
}

// TestAWorkerCancelsItself: it does not run, and its key stays known until CancelWork.
func TestAWorkerCancelsItself(t *testing.T) {
	var none *TimedWorker
	none.Cancel()
	inBubble(t, func(t *testing.T, q *counted) {
		require.Nil(t, q.GetWorkerUnsafe(key))
		start := time.Now()
		q.AddWork(t.Context(), NewWorkArgs("a", "default"), start, start.Add(time.Hour))
		w := q.GetWorkerUnsafe(key)
		require.Equal(t, start.Add(time.Hour), w.FireAt)
		w.Cancel()
		q.after(t, 2*time.Hour)
		require.Zero(t, q.ran)
		require.Same(t, w, q.GetWorkerUnsafe(key))
		require.True(t, q.CancelWork(key))
		require.False(t, q.CancelWork(key))
		q.after(t, 0)
		require.Equal(t, 1, q.ran)
	})
}

// TestCancelAndWaitForgetsAll, also what has succeeded.
func TestCancelAndWaitForgetsAll(t *testing.T) {
	inBubble(t, func(t *testing.T, q *counted) {
		for i := range 3 {
			q.after(t, 0) // it still runs
			require.Equal(t, i+1, q.ran)
			q.CancelAndWait()
		}
	})
}
