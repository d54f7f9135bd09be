package budget

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

// What a budget does with its buckets.
func TestTokensOfABudget(t *testing.T) {
	clock := clocktesting.NewFakeClock(clockBegin)
	missing := func(b *Budget[string, thing], group string) float64 {
		for _, is := range b.Snapshot().Groups {
			if is.Group == group {
				return is.Missing
			}
		}
		return 0
	}
	members := func(burst int) *Budget[string, thing] {
		clock.SetTime(clockBegin)
		config := things(Bound{Name: "rate", Per: "zone", PerSecond: 0.1, Burst: burst})
		config.Clock = clock
		b, err := New(config)
		require.NoError(t, err)
		for _, key := range strings.Split("abcd", "") {
			b.Set(key, thing{zone: "z", weight: 1, ok: true})
		}
		return b
	}
	reserve := func(b *Budget[string, thing], key string) Reservation[string] {
		r, err := b.Reserve(key)
		require.NoError(t, err)
		return r
	}

	b := members(2)
	require.True(t, reserve(b, "a").Commit())
	clock.Step(20 * time.Second)
	late := reserve(b, "b")
	clock.Step(5 * time.Second)
	require.True(t, reserve(b, "c").Commit())
	clock.Step(5 * time.Second)
	require.True(t, late.GiveBack())
	require.InDelta(t, 0.5, missing(b, "z"), 1e-9, "without b this much would be missing")
	require.Empty(t, b.members["a"].in[2].cells[0].tokens.open)

	b = members(1)
	clock.Step(5 * time.Second)
	for _, key := range []string{"b", "a", "c"} {
		require.True(t, b.Adopt(key, clockBegin))
	}
	require.InDelta(t, 2.5, missing(b, "z"), 1e-9, "the tokens come back one after the other")
	_, err := b.Reserve("d")
	require.Equal(t, clockBegin.Add(30*time.Second), again(t, err))
	clock.Step(25 * time.Second)
	require.True(t, reserve(b, "d").Commit())

	b = members(1)
	moved, gone := reserve(b, "a"), thing{zone: "y", weight: 1, ok: true}
	b.Set("a", gone)
	require.True(t, moved.GiveBack())
	require.InDelta(t, 1, missing(b, "z"), 1e-9, "the tokens stay where they were taken")
	require.Zero(t, missing(b, "y"))
	require.Empty(t, b.members["b"].in[2].cells[0].tokens.open)

	b = members(1)
	heavy := reserve(b, "a")
	b.Set("a", thing{zone: "z", weight: 9, ok: true})
	require.True(t, heavy.GiveBack())
	require.Zero(t, missing(b, "z"), "what was paid comes back")

	b = members(1)
	require.True(t, reserve(b, "a").Commit())
	for _, key := range []string{"a", "b", "c", "d"} {
		b.Set(key, gone)
	}
	clock.Step(time.Minute)
	b.Set("a", thing{zone: "x", weight: 1, ok: true}) // a new group sweeps those that remember nothing
	b.Set("b", thing{zone: "z", weight: 1, ok: true})
	require.True(t, b.Adopt("b", clockBegin))
	b.Set("c", thing{zone: "z", weight: 4, ok: true})
	require.True(t, b.Adopt("c", clockBegin.Add(5*time.Second)))
	require.InDelta(t, 0, missing(b, "z"), 1e-9)
	b.Set("d", thing{zone: "z", weight: 1, ok: true})
	require.True(t, b.Adopt("d", clockBegin))
	require.InDelta(t, 1, missing(b, "z"), 1e-9, "that a group had no members for a minute makes no tokens")
}
