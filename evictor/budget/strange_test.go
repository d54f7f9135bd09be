package budget

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// A key that does not equal itself is refused, and no value of any argument panics with the lock held: afterwards the
// Budget answers.
func TestStrangeValues(t *testing.T) {
	times := []time.Time{{}, clockBegin, time.Unix(math.MaxInt32, 0), time.Unix(1<<61, 0), time.Unix(-1<<61, 0), clockBegin.Add(-math.MaxInt64)}
	for _, weight := range []int64{0, 1, -1, math.MinInt64, math.MaxInt64} {
		clock := clocktesting.NewFakeClock(clockBegin)
		b, err := New(Config[float64, int64]{
			Weight: func(w int64) int64 { return w },
			Bad:    func(w int64) bool { return w > 0 },
			Clock:  clock,
			Bounds: []Bound{
				{Name: "recent", Of: Recent, Within: math.MaxInt64, Max: Percent(50)}, {Name: "bad", Of: Bad, Quiet: math.MaxInt64, Max: Count(math.MaxInt64)},
				{Name: "trial", Of: Unproven, Within: math.MaxInt64, Quiet: 1, Unjudged: Failed, Cooldown: math.MaxInt64, Max: Count(math.MaxInt64)},
			},
		})
		require.NoError(t, err)
		for _, key := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64} {
			for _, now := range times {
				clock.SetTime(now)
				if set := func() { b.Set(key, weight) }; math.IsNaN(key) {
					require.Panics(t, set)
				} else {
					set()
				}
				r, err := b.Reserve(key)
				if err == nil {
					r.Commit()
				}
				b.Judge(key, Outcome(200))
				b.Adopt(key, now)
				b.Exceeded(key)
				b.Status("recent", "")
				b.Next()
				s := b.Snapshot()
				if err == nil {
					r.End()
				}
				b.Remove(key)
				s.Acting = map[string][]float64{"x": {key}}
				require.Error(t, b.Restore(s), "it is in use")
			}
		}
		require.Zero(t, b.Len())
		require.Empty(t, b.Keys())
	}
}

func TestRestoreRefusesAKeyThatDoesNotEqualItself(t *testing.T) {
	config := Config[float64, int]{Bounds: []Bound{{Name: "recent", Of: Recent, Within: time.Hour, Max: Count(1)}}}
	for want, s := range map[string]Snapshot[float64]{
		"budget: snapshot: the key NaN is acted on, and does not equal itself": {Version: 1, Acting: map[string][]float64{"": {math.NaN()}}},
		`budget: snapshot: bound "recent", group "": the key NaN does not equal itself`: {Version: 1, Groups: []groupSnapshot[float64]{
			{Bound: "recent", Recent: []recentSnapshot[float64]{{Key: math.NaN(), Weight: 1}}},
		}},
	} {
		b, err := New(config)
		require.NoError(t, err)
		require.EqualError(t, b.Restore(s), want)
		require.NoError(t, b.Restore(Snapshot[float64]{Version: 1}), "nothing has changed")
	}
}
