package limiter

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/internal/misuse"
	"github.com/evictkit/evictkit/ratelimitqueue"
)

func TestWrongUseIsAnswered(t *testing.T) {
	type config = ratelimitqueue.Config
	limiter := func() *Limiter {
		l, err := New(config{Rate: 1})
		require.NoError(t, err)
		return l
	}
	misuse.Check(t, []struct {
		Wrong  string
		Use    func() error
		Answer string
	}{
		{"a negative burst", func() error { return misuse.Said(New(config{Burst: -1})) }, "limiter: ratelimitqueue: burst: Invalid value: -1"},
		{"a clock without timers", func() error { return misuse.Said(New(config{Clock: clocktesting.NewFakePassiveClock(time.Time{})})) },
			"limiter: New needs timers: Config.Clock must be a clock.Clock, which *testing.FakePassiveClock is not"},
		{"a rate that is none", func() error { return misuse.Said(New(config{Rate: rate.Limit(math.Inf(1))})) }, "limiter: ratelimitqueue: rate: Invalid value: +Inf"},
		{"set to no number", func() error { return limiter().SetRate(rate.Limit(math.NaN())) }, "limiter: ratelimitqueue: rate: Invalid value: NaN"},
		{"no context", func() error { return limiter().Wait(nil) }, "limiter: Wait needs a context, not nil"}, //nolint:staticcheck // it is wrong
		{"a zero Limiter", func() error { return new(Limiter).Wait(context.Background()) }, "limiter: a zero Limiter was used: make it with New"},
		{"a zero Limiter, set", func() error { return new(Limiter).SetRate(1) }, "limiter: a zero Limiter was used: make it with New"},
	})
}

// A Limiter at the ends of the rates waits no longer than its context or the next change.
func TestRatesAtTheirEnds(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	for _, limit := range []rate.Limit{0, math.SmallestNonzeroFloat64, 1e-9, rate.Inf} {
		l, err := New(ratelimitqueue.Config{Rate: limit, Burst: math.MaxInt, Clock: clocktesting.NewFakeClock(time.Unix(0, 0))})
		require.NoError(t, err)
		require.ErrorIs(t, l.Wait(ended), context.Canceled)
		require.NoError(t, l.SetRate(rate.Inf))
		require.NoError(t, l.Wait(context.Background()))
	}
}
