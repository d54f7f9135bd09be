package budget

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// What would end only after all time that can be counted does not end by time alone.
func TestARefusalIsNotOverBeforeItBegins(t *testing.T) {
	for name, bound := range map[string]Bound{
		"a window":  {Name: "x", Of: Recent, Within: math.MaxInt64, Max: Count(1)},
		"a breaker": {Name: "x", Of: Bad, Quiet: math.MaxInt64, Max: Count(0)},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(clockBegin)
			config := things(bound)
			config.Clock = clock
			b, err := New(config)
			require.NoError(t, err)
			b.Set("a", thing{weight: 1, counts: true, ok: true})
			b.Set("b", thing{weight: 1, counts: true, ok: true, bad: bound.Of == Bad})
			clock.Step(time.Hour)
			r, _ := b.Reserve("a")
			r.Commit()
			b.Set("b", thing{weight: 1, counts: true, ok: true})
			clock.Step(time.Hour)
			_, err = b.Reserve("b")
			require.Zero(t, again(t, err), "%v", err)
			require.Zero(t, firstOf(b.Exceeded("b")).Again)
			_, ok := b.Next()
			require.False(t, ok)
			s := b.Snapshot()
			b, err = New(config)
			require.NoError(t, err)
			require.NoError(t, b.Restore(s))
			require.Equal(t, s, b.Snapshot())
		})
	}
}

func firstOf(all []*Refusal) Refusal {
	if len(all) == 0 {
		return Refusal{}
	}
	return *all[0]
}

// So does a cooldown, and an action that is never judged.
func TestATrialThatLastsForEver(t *testing.T) {
	for name, bound := range map[string]Bound{
		"a cooldown": {Name: "x", Of: Unproven, Within: time.Hour, Max: Count(1), Quiet: 1, Unjudged: Failed, Cooldown: math.MaxInt64},
		"an action":  {Name: "x", Of: Unproven, Within: math.MaxInt64, Max: Count(1), Quiet: 1, Unjudged: Failed},
		"both":       {Name: "x", Of: Unproven, Within: 3 * time.Hour, Max: Count(1), Quiet: 1, Unjudged: Failed, Cooldown: math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(clockBegin)
			config := things(bound)
			config.Clock = clock
			b, err := New(config)
			require.NoError(t, err)
			for _, key := range []string{"a", "b", "c"} {
				b.Set(key, thing{ok: true})
				clock.Step(time.Hour)
				if key != "c" {
					require.True(t, b.Adopt(key, clock.Now()))
				}
			}
			if b.Judge("a", Failed); name != "an action" {
				require.True(t, firstOf(b.Exceeded("c")).Shut || name == "both")
			}
			_, err = b.Reserve("c")
			require.Zero(t, again(t, err), "%v", err)
			_, ok := b.Next()
			require.False(t, ok)
			s := b.Snapshot()
			b, err = New(config)
			require.NoError(t, err)
			require.NoError(t, b.Restore(s))
			require.Equal(t, s, b.Snapshot())
		})
	}
}

// Sums of the largest weights do not overflow.
func TestLargestWeights(t *testing.T) {
	b, err := New(things(
		Bound{Name: "two", Of: Acting, Max: Count(2)}, Bound{Name: "most", Of: Recent, Within: time.Hour, Max: Percent(50)},
		Bound{Name: "well", Of: Healthy, Min: Percent(50)},
	))
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c"} {
		b.Set(key, thing{weight: math.MaxInt64, counts: true, ok: true})
	}
	require.True(t, b.Adopt("a", clockBegin))
	var refusal *Refusal
	_, err = b.Reserve("b")
	require.ErrorAs(t, err, &refusal, "there are more than two already")
	require.Equal(t, Refusal{Bound: "two", Used: 2 << 40, Allowed: 2}, *refusal)
	st, _ := b.Status("well", "")
	require.Equal(t, Status{Used: 2 << 40, Total: 3 << 40, Max: -1, Min: 3 << 39}, st)
}
