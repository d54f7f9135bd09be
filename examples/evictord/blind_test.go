package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
)

// sighted is a replica that can be made blind. Its work takes three seconds to end.
type sighted struct {
	*terms
	blind, hangs atomic.Bool
	ran          chan error
}

// longestTry is the longest time until a replica tries again to get the lease; client-go adds up to 1.2 retry periods.
const longestTry = 3 * 2 * time.Second

var errIll = errors.New("watches: broken")

func newSighted(t *testing.T, client kubernetes.Interface, sees bool) (r *sighted, stop context.CancelFunc) {
	t.Helper()
	r = &sighted{ran: make(chan error, 1)}
	r.blind.Store(!sees)
	r.terms = newTerms(func() *leadership {
		return newLeadership(client, usualElection, func() error {
			if r.blind.Load() {
				return errIll
			}
			return nil
		}, slog.New(slog.DiscardHandler))
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		r.ran <- r.run(ctx, func(ctx context.Context) error {
			<-ctx.Done()
			if r.hangs.Load() {
				time.Sleep(time.Hour)
			}
			time.Sleep(3 * time.Second) // a write in flight
			return context.Cause(ctx)
		})
	}()
	return r, cancel
}

func (r *sighted) leads() bool { return r.mayWrite() == nil }

// TestABlindLeaderGivesTheLeaseUp once its writes in flight have ended, and goes on as a follower that does not ask for
// the lease.
func TestABlindLeaderGivesTheLeaseUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first, stopFirst := newSighted(t, client, true)
		time.Sleep(time.Second)
		second, stopSecond := newSighted(t, client, true)
		time.Sleep(time.Minute)
		require.True(t, first.leads())
		require.False(t, second.leads())

		first.blind.Store(true)
		time.Sleep(usualElection.retry)
		require.ErrorIs(t, first.mayWrite(), errIll, "at the next look")
		require.False(t, second.leads(), "not while something is under way")
		time.Sleep(3*time.Second + longestTry)
		require.True(t, second.leads())

		second.blind.Store(true)
		for range 60 {
			time.Sleep(usualElection.retry)
			require.False(t, first.leads() || second.leads(), "neither sees")
		}
		lease, err := client.CoordinationV1().Leases(usualElection.namespace).Get(t.Context(), usualElection.resourceName, metav1.GetOptions{})
		require.NoError(t, err)
		require.Empty(t, *lease.Spec.HolderIdentity)

		first.blind.Store(false)
		time.Sleep(3 * usualElection.retry)
		require.True(t, first.leads())
		stopFirst()
		stopSecond()
		require.NoError(t, <-first.ran)
		require.NoError(t, <-second.ran)
	})
}

// TestAReplicaThatNeverSawDoesNotAskForTheLease: a replica that has never seen the cluster does not.
func TestAReplicaThatNeverSawDoesNotAskForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		r, stop := newSighted(t, client, false)
		time.Sleep(time.Minute)
		require.Empty(t, client.Actions())
		r.blind.Store(false)
		time.Sleep(2 * usualElection.retry)
		require.True(t, r.leads())
		stop()
		require.NoError(t, <-r.ran)
	})
}

// TestABlindLeaderThatDoesNotEndEndsTheProgram, and does not renew the lease any more, so the lease expires.
func TestABlindLeaderThatDoesNotEndEndsTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		r, _ := newSighted(t, client, true)
		time.Sleep(time.Minute)
		require.True(t, r.leads())
		r.hangs.Store(true)
		r.blind.Store(true)
		began := time.Now()
		require.ErrorIs(t, <-r.ran, errStuck)
		require.LessOrEqual(t, time.Since(began), 10*time.Second)
		time.Sleep(2 * usualElection.leaseDuration)
		next, stop := newSighted(t, client, true)
		time.Sleep(usualElection.leaseDuration + longestTry)
		require.True(t, next.leads())
		stop()
		require.NoError(t, <-next.ran)
		time.Sleep(time.Hour) // the bubble waits for the work; the program would not
	})
}
