package zone

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each number of a policy is refused or has its meaning at its ends: never NaN, infinity or a negative rate as a ruling.
func TestParametersAtTheirEnds(t *testing.T) {
	const least, most, denormal = math.MinInt64, math.MaxInt64, math.SmallestNonzeroFloat64
	set := func(change func(*DisruptionPolicy)) DisruptionPolicy {
		p := DefaultPolicy()
		change(&p)
		return p
	}
	rates := func(rate float64) []DisruptionPolicy {
		return []DisruptionPolicy{
			set(func(p *DisruptionPolicy) { p.EvictionRate = rate }),
			set(func(p *DisruptionPolicy) { p.SecondaryEvictionRate = rate }),
		}
	}
	threshold := func(share float64) []DisruptionPolicy {
		return []DisruptionPolicy{set(func(p *DisruptionPolicy) { p.UnhealthyThreshold = share })}
	}
	sizes := func(n int) []DisruptionPolicy {
		return []DisruptionPolicy{set(func(p *DisruptionPolicy) { p.LargeZoneThreshold = n })}
	}
	for _, test := range []struct {
		policies []DisruptionPolicy
		refused  bool
	}{
		{rates(math.NaN()), true},
		{rates(math.Inf(1)), true},
		{rates(math.Inf(-1)), true},
		{rates(-denormal), true},
		{rates(0), false},
		{rates(math.Copysign(0, -1)), false},
		{rates(denormal), false},
		{rates(math.MaxFloat64), false},
		{threshold(math.NaN()), true},
		{threshold(math.Inf(1)), true},
		{threshold(math.Inf(-1)), true},
		{threshold(0), true},
		{threshold(math.Nextafter(1, 2)), true},
		{threshold(1), false},
		{threshold(denormal), false}, // three bad members suffice in a zone of any size
		{sizes(least), true},
		{sizes(0), false},
		{sizes(most), false},
	} {
		for _, p := range test.policies {
			tracker, err := New[string](p)
			require.Equal(t, test.refused, err != nil, "%+v", p)
			if err != nil {
				continue
			}
			for down := range 10 {
				setAll(tracker, zoneA, 9, down)
				tracker.Set("other", zoneB, Member{Ready: down%2 == 0})
				for _, change := range tracker.Evaluate(epoch) {
					require.True(t, validRate(change.Rate), "%+v: %+v", p, change)
				}
			}
		}
	}
}

// What a policy rules counts as documented at its ends, and a time that never comes wakes nobody.
func TestRulingsAtTheirEnds(t *testing.T) {
	for _, far := range []time.Duration{math.MinInt64, 0, 1, math.MaxInt64} {
		tracker, err := New[string](PolicyFunc(func(Situation) Ruling {
			return Ruling{State: Normal, Rate: math.MaxFloat64, AskAfter: far}
		}))
		require.NoError(t, err)
		tracker.Set("n", zoneA, good)
		require.Equal(t, []Change{
			{Status: Status{zoneA, Normal, math.MaxFloat64, Counts{Total: 1}}, From: Initial},
		}, tracker.Evaluate(epoch))
		next, ok := tracker.Next(epoch)
		require.Equal(t, far == 1, ok, far)
		if ok {
			require.Equal(t, epoch.Add(1), next)
		}
		require.NotPanics(t, func() { tracker.Evaluate(time.Unix(int64(far), 0)) })
	}
}

// No argument panics with a lock held.
func FuzzArguments(f *testing.F) {
	for _, n := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		f.Add(math.NaN(), "r", "z", "u", true, false, n, -n, "Normal", math.Inf(1))
		f.Add(0.0, "", "", "", false, true, -n, n, "", -1.0)
	}
	f.Fuzz(func(t *testing.T, key float64, region, zone, identity string, ready, excluded bool, seconds, after int64, state string, rate float64) {
		tracker, err := New[any](PolicyFunc(func(Situation) Ruling {
			return Ruling{State: State(state), Rate: rate, AskAfter: time.Duration(after)}
		}))
		require.NoError(t, err)
		member, domain := Member{Ready: ready, Excluded: excluded, Identity: identity}, Key{region, zone}
		for _, now := range []time.Time{epoch, time.Unix(seconds, after), {}, epoch} {
			for _, k := range []any{key, identity, []int{1}} {
				for _, use := range []func(){
					func() { tracker.Set(k, domain, member) },
					func() { tracker.Set(k, Key{}, Member{}) },
					func() { tracker.Evaluate(now) },
					func() { tracker.Next(now) },
					func() { tracker.Remove(k, identity) },
				} {
					func() {
						defer func() { _ = recover() }()
						use()
					}()
					require.True(t, tracker.evaluation.TryLock())
					tracker.evaluation.Unlock()
					require.Equal(t, len(tracker.zones), len(tracker.Zones()), "mu is free too")
				}
			}
		}
	})
}
