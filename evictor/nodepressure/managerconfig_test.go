//go:build go1.25

package nodepressure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestCleanupTimeoutBelowPoll: the timeout decides.
func TestCleanupTimeoutBelowPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(clock.RealClock{})
		w.left, w.cleanup = 0, time.Hour
		machine, err := New(hardMemory)
		require.NoError(t, err)
		config := DefaultManagerConfig()
		config.CleanupPoll = time.Minute
		m, err := NewManager(machine, Clients{StatsProvider: w, Killer: w}, config)
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(context.Background(), 35*time.Second)
		defer stop()
		require.ErrorIs(t, m.Run(ctx), context.DeadlineExceeded)
		require.Equal(t, []string{"0s kill a 1s", "30s kill a 1s"}, w.log)
	})
}

func TestManagerRunsOnce(t *testing.T) {
	var m *Manager
	during(t, hardMemory, nil, func(_ *world, manager *Manager) { m = manager }, func(_ *world, m *Manager) {
		synctest.Wait()
		require.ErrorIs(t, m.Run(context.Background()), ErrRunning)
	})
	ended, end := context.WithCancelCause(context.Background())
	cause := errors.New("over")
	end(cause)
	require.ErrorIs(t, m.Run(ended), cause, "it may run again")
}

// TestRunAgainDecidesAnew: no pod is killed because of a decision from before the end.
func TestRunAgainDecidesAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := runNode(t, Config{LocalStorageLimits: true}, func(w *world) {
			w.aboveLimits()
			w.onKill = func(ctx context.Context, _ Eviction) { <-ctx.Done() }
		})
		time.Sleep(time.Second)
		n.end(t)
		n.world.pods = nil
		n.begin()
		time.Sleep(time.Minute)
		n.end(t)
		require.Equal(t, []string{"0s kill a 1s"}, n.world.log)
	})
}
