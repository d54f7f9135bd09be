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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var usualElection = leaderOptions{
	elect: true, leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retry: 2 * time.Second, resourceLock: "leases", resourceName: "l", namespace: "n",
}

func sees() error { return nil }

// lead begins a leadership; the channel gets its result.
func lead(t *testing.T, client kubernetes.Interface, work func(context.Context, *leadership) error) (*leadership, <-chan error) {
	t.Helper()
	l := newLeadership(client, usualElection, sees, slog.New(slog.DiscardHandler))
	ran := make(chan error)
	go func() {
		ran <- l.run(t.Context(), func(ctx context.Context) error { return work(ctx, l) })
	}()
	return l, ran
}

// TestATermEndsBeforeTheLease, even if client-go waits for a hanging API server before it ends the term.
func TestATermEndsBeforeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		var renewed time.Time
		client.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if down.Load() {
				time.Sleep(5 * time.Second)
				return true, nil, errors.New("no answer")
			}
			if action.GetVerb() != "get" {
				renewed = time.Now()
			}
			return false, nil, nil
		})
		var ended time.Time
		l, ran := lead(t, client, func(ctx context.Context, l *leadership) error {
			<-ctx.Done()
			ended = time.Now()
			require.Error(t, l.mayWrite())
			time.Sleep(4 * time.Second) // a write in flight
			return context.Cause(ctx)
		})
		time.Sleep(time.Minute)
		require.NoError(t, l.mayWrite())
		down.Store(true)
		require.ErrorIs(t, <-ran, errLostLease)
		require.Equal(t, usualElection.renewDeadline, ended.Sub(renewed))
	})
}

// TestAProcessThatWasStoppedWritesNothing when it continues, even before its timers have run: another one leads by
// then.
func TestAProcessThatWasStoppedWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeadership(nil, usualElection, sees, slog.New(slog.DiscardHandler))
		l.lead(t.Context())
		term := &termLock{Interface: &lock{}, l: l}
		require.NoError(t, term.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "this"}))
		l.expiry.Stop()
		time.Sleep(usualElection.renewDeadline - 1)
		require.NoError(t, l.mayWrite())
		time.Sleep(time.Nanosecond)
		require.ErrorIs(t, l.mayWrite(), errLostLease)
	})
}

// lock is a resourcelock.Interface that counts its updates.
type lock struct {
	resourcelock.Interface
	holder  string
	updates int
}

func (*lock) Identity() string { return "this" }

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, nil
}

func (l *lock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	l.updates++
	return nil
}

func TestTheLeaseIsGivenAway(t *testing.T) {
	for name, row := range map[string]struct {
		holder  string
		working bool
		want    error
	}{
		"by its holder":        {"this", false, nil},
		"not by another":       {"next", false, errLostLease},
		"not with work to end": {"this", true, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &lock{holder: row.holder}
				l := newLeadership(nil, usualElection, sees, slog.New(slog.DiscardHandler))
				defer l.expiry.Stop()
				if !row.working {
					close(l.worked)
				}
				term := &termLock{Interface: inner, l: l}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, _, err := term.Get(ctx)
				require.NoError(t, err)
				require.Equal(t, row.want, term.Update(ctx, resourcelock.LeaderElectionRecord{}))
				require.Equal(t, row.want == nil, inner.updates == 1)
			})
		})
	}
}

// slowLock is granted a moment after the request.
type slowLock struct {
	lock
}

func (l *slowLock) Create(ctx context.Context, _ resourcelock.LeaderElectionRecord) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *slowLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Create(ctx, record)
}

// TestALeaseThatIsGrantedAtTheEndIsKnown: otherwise nobody would release it.
func TestALeaseThatIsGrantedAtTheEndIsKnown(t *testing.T) {
	ours := resourcelock.LeaderElectionRecord{HolderIdentity: "this"}
	for name, write := range map[string]func(*termLock, context.Context) error{
		"created":    func(term *termLock, ctx context.Context) error { return term.Create(ctx, ours) },
		"taken over": func(term *termLock, ctx context.Context) error { return term.Update(ctx, ours) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLeadership(nil, usualElection, sees, slog.New(slog.DiscardHandler))
				defer l.expiry.Stop()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
				defer cancel()
				require.NoError(t, write(&termLock{Interface: &slowLock{}, l: l}, ctx))
			})
		})
	}
}

// TestALeaderThatCannotEndIsIll: a probe ends a process that neither renews its lease nor stops working.
func TestALeaderThatCannotEndIsIll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, errors.New("no answer")
		})
		stuck := make(chan struct{})
		l, ran := lead(t, client, func(context.Context, *leadership) error {
			<-stuck
			return nil
		})
		time.Sleep(time.Minute)
		require.NoError(t, l.mayWrite())
		require.NoError(t, l.healthy())
		down.Store(true)
		time.Sleep(time.Minute)
		ill := l.healthy()
		close(stuck)
		require.ErrorIs(t, <-ran, errLostLease)
		require.ErrorContains(t, ill, "failed election to renew leadership")
	})
}

// TestALeaseThatAnotherHoldsEndsTheTerm at once, and not at the renew deadline: the other replica already writes.
func TestALeaseThatAnotherHoldsEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var lost atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return lost.Load(), nil, apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "l", nil)
		})
		var ended time.Time
		l, ran := lead(t, client, func(ctx context.Context, _ *leadership) error {
			<-ctx.Done()
			ended = time.Now()
			return context.Cause(ctx)
		})
		time.Sleep(time.Minute + time.Second) // between two renewals
		require.NoError(t, l.mayWrite())
		leases := client.CoordinationV1().Leases(usualElection.namespace)
		lease, err := leases.Get(t.Context(), usualElection.resourceName, metav1.GetOptions{})
		require.NoError(t, err)
		lease, next := lease.DeepCopy(), "next"
		lease.Spec.HolderIdentity = &next
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		require.NoError(t, err)
		lost.Store(true)
		taken := time.Now()
		require.ErrorIs(t, <-ran, errLostLease)
		require.LessOrEqual(t, ended.Sub(taken), usualElection.retry)
	})
}

// TestAProcessThatWasStoppedTooLongExits, also if it first finds out that it sees nothing, and its timers are late: it
// lost the lease, and another replica may lead.
func TestAProcessThatWasStoppedTooLongExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if down.Load() {
				time.Sleep(time.Minute)
			}
			return down.Load(), nil, errors.New("no answer")
		})
		var blind atomic.Bool
		l := newLeadership(client, usualElection, func() error {
			if blind.Load() {
				return errIll
			}
			return nil
		}, slog.New(slog.DiscardHandler))
		ran := make(chan error)
		go func() {
			ran <- l.run(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		time.Sleep(time.Minute)
		require.NoError(t, l.mayWrite())
		down.Store(true)
		time.Sleep(time.Second)
		l.expiry.Stop()
		time.Sleep(usualElection.renewDeadline)
		blind.Store(true)
		require.ErrorIs(t, <-ran, errLostLease)
	})
}
