package manager

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// term is how long this replica may write after its last renewal of the lease. controller-runtime ends a program that has
// lost the lease, but a process that was suspended could act before it finds out.
type term struct {
	deadline time.Duration
	renewed  atomic.Pointer[time.Time] // when the last renewal began; nil before the first
}

// over returns an error once the renew deadline has passed, after which another replica may lead.
func (t *term) over() error {
	if renewed := t.renewed.Load(); renewed != nil && time.Since(*renewed) >= t.deadline {
		return errors.New("the lease was not renewed in time: another replica may lead now")
	}
	return nil
}

// notedLock reports renewals to a term.
type notedLock struct {
	resourcelock.Interface
	term *term
}

// Create implements resourcelock.Interface.
func (l *notedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	began := time.Now()
	return l.note(began, record, l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *notedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	began := time.Now()
	return l.note(began, record, l.Interface.Update(ctx, record))
}

func (l *notedLock) note(began time.Time, record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil && record.HolderIdentity == l.Identity() {
		l.term.renewed.Store(&began)
	}
	return err
}
