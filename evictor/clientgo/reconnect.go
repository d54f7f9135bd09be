package clientgo

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// reconnectEvery is the time between two attempts to reach an API server that does not answer.
	reconnectEvery = time.Second
	// reconnectFor bounds the attempts if nothing can cancel them: under informers of client-go before 0.33.
	reconnectFor = 20 * time.Second
)

// reconnect retries every second while the API server gives no answer at all. The informer would retry too, but with a
// growing backoff: after an outage of a minute it may take another minute to notice that the API server is back, and
// until then no verdict is reached and no pod is evicted. Any answer, a refusal included, is left to the informer.
func reconnect[T any](ctx context.Context, note func(error), try func() (T, error)) (T, error) {
	var cancel context.CancelFunc = func() {}
	if ctx.Done() == nil {
		ctx, cancel = context.WithTimeout(ctx, reconnectFor)
	}
	defer cancel()
	for {
		result, err := try()
		note(err)
		if err == nil || answered(err) {
			return result, err
		}
		if !wait(ctx, reconnectEvery) {
			return result, err
		}
	}
}

// wait returns true after that time, or false if the context ends before.
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

// answered says whether the error is an answer of the API server, or the caller has given up.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) || errors.Is(err, context.Canceled)
}
