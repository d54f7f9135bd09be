package main

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// termLock reports renewals to the leadership. It releases the lease only when no write is in flight, and only while the
// lease is still ours: client-go retries after a conflict, and would release the next leader's lease.
type termLock struct {
	resourcelock.Interface
	l      *leadership
	holder string // the lease's holder when last read
}

// Get implements resourcelock.Interface.
func (t *termLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := t.Interface.Get(ctx)
	if err == nil {
		t.holder = record.HolderIdentity
		if t.holder != "" && t.holder != t.Identity() && t.l.mayWrite() == nil {
			t.l.expiry.Reset(0) // client-go keeps trying until the renew deadline, although another replica leads
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

// renew extends the term by the renew deadline, counted from before the request. The request goes on when ctx ends:
// otherwise the API server might grant us the lease just then, we would not know, and nobody would release it.
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
	until := began.Add(t.l.options.renewDeadline)
	t.l.until.Store(&until)
	t.l.expiry.Reset(time.Until(until))
	return nil
}
