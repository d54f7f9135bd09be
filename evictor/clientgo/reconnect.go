package clientgo

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// reconnectEvery is the time between two tries to reach an API server that does not answer.
	reconnectEvery = time.Second
	// reconnectFor bounds them where nobody can end them: under informers of client-go before 0.33.
	reconnectFor = 20 * time.Second
)

// reconnect tries again, second by second, while the API server gives no answer at all. The informer would do it too,
// but less and less often: after an outage of a minute it may not notice for another one that all is well again, and
// until it does no node is condemned and no pod is evicted. An answer, also one that says no, is left to the informer.
func reconnect[T any](ctx context.Context, l *link, try func() (T, error)) (T, error) {
	var cancel context.CancelFunc = func() {}
	if ctx.Done() == nil {
		ctx, cancel = context.WithTimeout(ctx, reconnectFor)
	}
	defer cancel()
	for {
		result, err := try()
		l.note(err)
		if err == nil || answered(err) {
			return result, err
		}
		if !wait(ctx, reconnectEvery) {
			return result, err
		}
	}
}

// wait returns after that time, or with false when the context ends before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// answered says whether the error is the API server's.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) || errors.Is(err, context.Canceled)
}
