package turns

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRatesThatAreNone stop; what cannot be served is refused when it is made.
func TestRatesThatAreNone(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		turns, err := New(Config{Rate: rate}, epoch)
		require.NoError(t, err)
		turns.Wait("a-0", "uid", domain("a"), at(0))
		_, taken := turns.Take(at(3600))
		require.False(t, taken, rate)
		_, some := turns.Next(at(3600))
		require.False(t, some, rate)
		require.True(t, turns.SetRate(domain("a"), 1, at(3600)), "another rate")
		require.False(t, turns.SetRate(domain("a"), 1, at(3601)), "the same")
		require.True(t, turns.SetRate(domain("a"), rate, at(3602)))
		require.False(t, turns.SetRate(domain("a"), 0, at(3603)), "it had stopped")
	}
	turns, err := New(Config{Rate: 1, MaxRate: math.NaN()}, epoch)
	require.Error(t, err)
	require.Nil(t, turns)
}

// TestOneTurnAtOnce: the next is there when the first is over.
func TestOneTurnAtOnce(t *testing.T) {
	turns, err := New(Config{Rate: 10}, epoch)
	require.NoError(t, err)
	turns.Limit(1)
	turns.Wait("a-0", "uid", domain("a"), at(0))
	turns.Wait("b-0", "uid", domain("b"), at(0))
	require.True(t, turns.AnyWaits(domain("a")))
	require.False(t, turns.AnyWaits(domain("c")))
	first, taken := turns.Take(at(1))
	require.True(t, taken)
	require.False(t, turns.AnyWaits(domain("a")), "it has its turn")
	_, taken = turns.Take(at(1))
	require.False(t, taken)
	first.Served()
	_, taken = turns.Take(at(1))
	require.True(t, taken)
}
