package main

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// termLock tells the leadership of renewals. The lease is given away only when nothing is under way, and only if it is ours
// still: client-go, which tries again after a conflict, would give away that of the next leader.
type termLock struct {
	resourcelock.Interface
	l      *leadership
	holder string // when it was last read
}

// Get implements resourcelock.Interface.
func (t *termLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := t.Interface.Get(ctx)
	if err == nil {
		t.holder = record.HolderIdentity
		if t.holder != "" && t.holder != t.Identity() && t.l.mayWrite() == nil {
			t.l.expiry.Reset(0) // client-go asks on until the renew deadline, while the other leads
		}
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (t *termLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return t.renew(ctx, func(ctx context.Context) error { return t.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (t *termLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity != "" {
		return t.renew(ctx, func(ctx context.Context) error { return t.Interface.Update(ctx, record) })
	}
	if t.holder != t.Identity() {
		return errLostLease
	}
	select {
	case <-t.l.worked:
		return t.Interface.Update(ctx, record)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// renew puts the end of the term off, by the renew deadline from before the request. It lets the request finish when ctx
// ends: otherwise a lease that the API server grants just then would be ours without our knowing, and nobody gave it away.
func (t *termLock) renew(ctx context.Context, request func(context.Context) error) error {
	if why := t.l.blind.Load(); why != nil {
		return *why
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.l.options.renewDeadline)
	defer cancel()
	if err := request(ctx); err != nil {
		return err
	}
	t.l.expiry.Reset(t.l.options.renewDeadline - time.Since(began))
	return nil
}
