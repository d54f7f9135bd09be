//go:build go1.25

package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// granting is a lease that is had unless it fails.
type granting struct {
	resourcelock.Interface
	err error
}

func (*granting) Identity() string { return "this" }

func (g *granting) Create(context.Context, resourcelock.LeaderElectionRecord) error { return g.err }

func (g *granting) Update(context.Context, resourcelock.LeaderElectionRecord) error { return g.err }

// TestATermEndsByTheClock, whether anybody has found out that the lease was not renewed or the process was stopped all the time.
func TestATermEndsByTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours := resourcelock.LeaderElectionRecord{HolderIdentity: "this"}
		lease := &granting{}
		l := &notedLock{lease, &term{deadline: 10 * time.Second}}
		time.Sleep(time.Minute)
		require.NoError(t, l.term.over(), "nobody is elected")
		require.NoError(t, l.Create(t.Context(), ours))
		time.Sleep(8 * time.Second)
		require.NoError(t, l.Update(t.Context(), ours))
		time.Sleep(10*time.Second - 1)
		require.NoError(t, l.term.over())
		lease.err = errors.New("no answer")
		require.Error(t, l.Update(t.Context(), ours))
		lease.err = nil
		require.NoError(t, l.Update(t.Context(), resourcelock.LeaderElectionRecord{}), "given away")
		time.Sleep(time.Nanosecond)
		require.Error(t, l.term.over())
	})
}
