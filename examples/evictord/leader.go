package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/evictkit/evictkit/evictor/clientgo"
)

// leadership says whether this replica may write. It lasts until the replica loses the lease or releases it. The evictor
// runs in every replica, so that the next leader has seen what this one has seen.
type leadership struct {
	client  kubernetes.Interface
	options leaderOptions
	logger  *slog.Logger
	sees    func() error          // returns nil while this replica is fit to lead
	blind   atomic.Pointer[error] // why it releases the lease
	changed func()
	watched *leaderelection.HealthzAdaptor
	// leading is the context of the leadership. When the lease is lost, client-go ends it too late: it tries to release
	// the lease first.
	leading atomic.Pointer[context.Context]
	expiry  *time.Timer               // ends the term unless the lease is renewed
	until   atomic.Pointer[time.Time] // when expiry fires, because the timers of a suspended process are late; nil before the first renewal
	lost    chan struct{}             // closed when expiry fires
	worked  chan struct{}             // closed when the work has returned
}

var (
	errFollower  = errors.New("another replica leads")
	errLostLease = errors.New("the lease was lost: another replica may lead now")
	errBlind     = errors.New("this replica is not fit to lead")
	errStuck     = errors.New("the evictor does not end, so the program exits")
)

func newLeadership(client kubernetes.Interface, o leaderOptions, sees func() error, logger *slog.Logger) *leadership {
	l := &leadership{client: client, options: o, logger: logger, sees: sees, changed: func() {}, watched: leaderelection.NewLeaderHealthzAdaptor(leaseStuck), lost: make(chan struct{}), worked: make(chan struct{})}
	l.expiry = time.AfterFunc(math.MaxInt64, sync.OnceFunc(func() { close(l.lost) }))
	if !o.elect {
		l.lead(context.Background())
	}
	return l
}

func (l *leadership) mayWrite() error {
	select {
	case <-l.lost:
		return errLostLease
	default:
	}
	if until := l.until.Load(); until != nil && !time.Now().Before(*until) {
		return errLostLease
	}
	if why := l.blind.Load(); why != nil {
		return *why
	}
	if term := l.leading.Load(); term != nil && (*term).Err() == nil {
		return nil
	}
	return errFollower
}

// leaseStuck is how long after the end of its lease a replica that still believes to lead fails its probes.
const leaseStuck = 20 * time.Second

// healthy is nil unless this replica leads with a lease that ended long ago.
func (l *leadership) healthy() error { return l.watched.Check(nil) }

// run runs the work, and asks for the lease once this replica is fit to lead. When ctx ends, it lets the work finish and
// then releases the lease, so that the next leader meets no write of this one. It returns errLostLease if the lease could
// not be renewed within the renew deadline; writes in flight then have the rest of the lease to finish. A replica that is
// no longer fit releases the lease in the same way, and run returns errBlind, or errStuck if the work does not end.
func (l *leadership) run(ctx context.Context, work func(context.Context) error) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer l.expiry.Stop()
	var result error // of the work; not read before worked is closed
	go func() {
		defer close(l.worked)
		result = work(working)
	}()
	if !l.options.elect {
		<-l.worked
		return finished(ctx, result)
	}
	elector, err := l.elector()
	if err != nil {
		stop(err)
		<-l.worked
		return err
	}
	if !l.watchSight(func(why error) bool { return why == nil }) {
		return finished(ctx, result)
	}

	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	elected, blind := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(elected)
		elector.Run(electing)
	}()
	go func() {
		if l.watchSight(l.goesBlind) {
			close(blind)
		}
	}()
	reason := errLostLease
	select {
	case <-l.worked: // the context has ended, or the work failed
		release()
		<-elected
		return finished(ctx, result)
	case <-elected:
	case <-l.lost:
	case <-blind:
		if !errors.Is(l.mayWrite(), errLostLease) { // a process that was suspended finds both out at once
			reason = fmt.Errorf("%w: %w", errBlind, *l.blind.Load())
			l.logger.Warn("not fit to lead: releasing the lease if this replica holds it", "why", reason)
		}
	}
	stop(reason)
	select {
	case <-l.worked:
	case <-l.unfinished():
		return fmt.Errorf("%w: %w", errStuck, reason)
	}
	release()
	<-elected
	if ctx.Err() != nil && errors.Is(reason, errBlind) {
		return nil
	}
	return reason
}

// goesBlind records that this replica is no longer fit to lead: from now on it neither writes nor renews the lease.
func (l *leadership) goesBlind(why error) bool {
	if why != nil {
		l.blind.Store(&why)
	}
	return why != nil
}

// watchSight calls sees once in a retry period until enough accepts the answer. It returns false if the work ends first.
func (l *leadership) watchSight(enough func(error) bool) bool {
	ticker := time.NewTicker(l.options.retry)
	defer ticker.Stop()
	for !enough(l.sees()) {
		select {
		case <-l.worked:
			return false
		case <-ticker.C:
		}
	}
	return true
}

// unfinished fires when the work should have ended after the replica became unfit. After a lost lease it never fires:
// the liveness probe ends a process that hangs.
func (l *leadership) unfinished() <-chan time.Time {
	if l.blind.Load() == nil {
		return nil
	}
	return time.After(clientgo.FinishWithin + time.Second)
}

// finished returns the error of the work, or nil if the work was asked to end.
func finished(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

func (l *leadership) elector() (*leaderelection.LeaderElector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	id := host + "_" + string(uuid.NewUUID())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &termLock{l: l, Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: l.options.namespace, Name: l.options.resourceName},
			Client:     l.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		}},
		LeaseDuration:   l.options.leaseDuration,
		RenewDeadline:   l.options.renewDeadline,
		RetryPeriod:     l.options.retry,
		ReleaseOnCancel: true,
		WatchDog:        l.watched,
		Name:            l.options.resourceName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: l.lead,
			OnStoppedLeading: func() { l.changed() },
			OnNewLeader:      func(leader string) { l.logger.Info("leader", "id", leader, "this", leader == id) },
		},
	})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	l.watched.SetLeaderElection(elector) // as leaderelection.RunOrDie does; NewLeaderElector does not
	return elector, nil
}

func (l *leadership) lead(term context.Context) {
	l.leading.Store(&term)
	l.changed()
}

// terms are the successive leaderships of a replica.
type terms struct {
	next    func() *leadership
	current atomic.Pointer[leadership]
}

func newTerms(next func() *leadership) *terms {
	t := &terms{next: next}
	t.current.Store(next())
	return t
}

func (t *terms) mayWrite() error { return t.current.Load().mayWrite() }
func (t *terms) healthy() error  { return t.current.Load().healthy() }

// run runs the work until the context ends or the lease is lost. A replica that released the lease as unfit goes on with
// a new leadership.
func (t *terms) run(ctx context.Context, work func(context.Context) error) error {
	for {
		if err := t.current.Load().run(ctx, work); !errors.Is(err, errBlind) || errors.Is(err, errStuck) {
			return err
		}
		t.current.Store(t.next())
	}
}
