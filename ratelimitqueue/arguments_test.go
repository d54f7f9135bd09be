package ratelimitqueue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// What is no rate is an error everywhere, and changes nothing.
func TestWhatIsNoRate(t *testing.T) {
	q, g := queue(t, Config{Rate: 1}), group(t, GroupConfig[string, string]{Config: Config{Rate: 1}})
	for _, number := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -math.SmallestNonzeroFloat64, -math.MaxFloat64} {
		limit := rate.Limit(number)
		_, err := New[string, int](Config{Rate: limit})
		require.Error(t, err, limit)
		_, err = NewGroup[string, string, int](GroupConfig[string, string]{Config: Config{Rate: limit}})
		require.Error(t, err, limit)
		_, err = NewGroup[string, string, int](GroupConfig[string, string]{MaxRate: limit})
		require.Error(t, err, limit)
		for _, set := range []func(rate.Limit) error{q.SetRate, func(limit rate.Limit) error { return g.SetRate("d", limit) }} {
			require.Error(t, set(limit), limit)
		}
		require.Equal(t, rate.Limit(1), q.line.bucket.limit)
		_, made := g.Domain("d")
		require.False(t, made)
	}
}

// Every other rate and burst means what its page says: the burst goes at once, and then one in 1/rate seconds.
func TestRatesAtTheirEnds(t *testing.T) {
	const years = 365 * 24 * time.Hour
	for _, test := range []struct {
		rate  rate.Limit
		burst int
		first int           // of 100, at once
		wait  time.Duration // for the next; 0: never
	}{
		{rate: 0},
		{rate: math.SmallestNonzeroFloat64, first: 1},
		{rate: rate.Every(201 * years), first: 1}, // as far away as never
		{rate: rate.Every(199 * years), first: 1, wait: 199 * years},
		{rate: 1, burst: 3, first: 3, wait: time.Second},
		{rate: 1, burst: math.MaxInt, first: 100},
		{rate: 1e8, first: 1, wait: 10},
		{rate: 1e10, first: 10, wait: 1}, // ten in a nanosecond
		{rate: rate.Limit(math.Nextafter(float64(rate.Inf), 0)), first: 100},
		{rate: rate.Inf, first: 100},
		{rate: rate.Inf, burst: math.MaxInt, first: 100},
	} {
		g := group(t, GroupConfig[string, string]{Config: Config{Rate: test.rate, Burst: test.burst}})
		for key := range 100 {
			g.Add("d", string(rune('A'+key)), 0)
		}
		require.Len(t, g.takes(), test.first, "%+v", test)
		next, ok := g.Next()
		require.Equal(t, test.wait > 0, ok, "%+v", test)
		if ok {
			require.WithinRange(t, next, epoch.Add(test.wait-test.wait/1e9), epoch.Add(test.wait+test.wait/1e9), "%+v", test)
			g.clk.SetTime(next)
			require.NotEmpty(t, g.takes(), "%+v", test)
		}
		require.NoError(t, g.SetRate("d", 2)) // from any rate to any other
		require.NoError(t, g.SetRate("d", test.rate))
		require.NoError(t, g.SetRate("d", 0))
		require.Empty(t, g.takes(), "%+v", test)
		require.NoError(t, g.SetRate("d", 2))
		g.step(time.Second / 2)
		require.Len(t, g.takes(), min(1, 100-test.first), "%+v", test)
	}
}

// A change of rate keeps the tokens of the largest bucket.
func TestTheLargestBurst(t *testing.T) {
	q := queue(t, Config{Rate: 1, Burst: math.MaxInt})
	require.NoError(t, q.SetRate(2))
	q.Add("a", 0)
	q.Add("b", 0)
	require.Len(t, q.takes(), 2)
}
