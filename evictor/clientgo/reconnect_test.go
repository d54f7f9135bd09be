//go:build go1.25

package clientgo

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// An API server that does not answer is tried every second, for as long as it takes; an answer is one, whatever it says.
func TestReconnect(t *testing.T) {
	refused := errors.New("connection refused")
	for name, row := range map[string]struct {
		outage time.Duration
		then   error
		bound  bool // as under informers that give no context
		took   time.Duration
		want   error
	}{
		"answers at once":         {},
		"comes back":              {outage: 10 * time.Minute, took: 10 * time.Minute},
		"comes back between":      {outage: 1500 * time.Millisecond, took: 2 * time.Second},
		"says no":                 {outage: 5 * time.Second, then: apierrors.NewGone("too old"), took: 5 * time.Second, want: apierrors.NewGone("too old")},
		"in time without context": {outage: 15 * time.Second, bound: true, took: 15 * time.Second},
		"late without context":    {outage: time.Minute, bound: true, took: reconnectFor, want: refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &link{what: "nodes", clock: clock.RealClock{}, logger: slog.New(slog.DiscardHandler)}
				ctx := context.Background()
				if !row.bound {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					defer cancel()
				}
				began := time.Now()
				_, err := reconnect(ctx, l.note, func() (int, error) {
					if time.Since(began) < row.outage {
						return 0, refused
					}
					return 1, row.then
				})
				require.Equal(t, row.want, err)
				require.Equal(t, row.took, time.Since(began))
				_, broken := l.broken(time.Now())
				require.Equal(t, row.want, broken)
			})
		})
	}
}

func TestReconnectEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &link{what: "nodes", clock: clock.RealClock{}, logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		began := time.Now()
		_, err := reconnect(ctx, l.note, func() (int, error) { return 0, errors.New("connection refused") })
		require.ErrorContains(t, err, "refused")
		require.Equal(t, 90*time.Second, time.Since(began))
	})
}
