package budget_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/budget"
)

// TestKeysThatDifferFromThemselves: no call could find such a member, so none is made, and the Budget goes on.
func TestKeysThatDifferFromThemselves(t *testing.T) {
	b, err := budget.New(budget.Config[float64, int64]{
		Weight: func(w int64) int64 { return w },
		Bounds: []budget.Bound{{Name: "one", Of: budget.Recent, Max: budget.Count(math.MaxInt64), Within: time.Hour}},
	})
	require.NoError(t, err)
	nan := math.NaN()
	require.PanicsWithValue(t, "budget: Set of the key NaN, which differs from itself: no call could find the member", func() { b.Set(nan, 1) })
	require.Zero(t, b.Len())
	_, err = b.Reserve(nan)
	require.ErrorIs(t, err, budget.ErrUnknown)
	for _, s := range []budget.Snapshot[float64]{
		{Version: budget.SnapshotVersion, Acting: map[string][]float64{"": {nan}}},
		{Version: budget.SnapshotVersion, Groups: []budget.GroupSnapshot[float64]{{Bound: "one", Recent: []budget.RecentSnapshot[float64]{{Key: nan, Weight: 1}}}}},
	} {
		require.EqualError(t, b.Restore(s), "budget: snapshot: the key NaN differs from itself: no call could find the member")
	}
	require.False(t, b.Adopt(nan, time.Time{}) || b.End(nan) || b.Judge(nan, budget.Failed) || b.Remove(nan))
	for _, key := range []float64{math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		for _, weight := range []int64{math.MinInt64, -1, math.MaxInt64} {
			b.Set(key, weight)
			r, err := b.Reserve(key)
			require.NoError(t, err)
			require.True(t, r.Commit() && r.End())
		}
		require.True(t, b.Remove(key))
	}
	require.Zero(t, b.Len())
}
