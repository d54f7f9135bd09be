package zone

import (
	"errors"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

func stateOf(p Policy, c Counts) State { return p.Decide(Situation{Counts: c}).State }

func TestStateOfCounts(t *testing.T) {
	for name, row := range map[string]struct {
		counts Counts
		want   State
	}{
		"nothing counts":                     {Counts{}, Normal},
		"one, good":                          {Counts{1, 0}, Normal},
		"one, bad":                           {Counts{1, 1}, FullDisruption},
		"two, one bad":                       {Counts{2, 1}, Normal},
		"two, both bad":                      {Counts{2, 2}, FullDisruption},
		"two of three are not more than two": {Counts{3, 2}, Normal},
		"all three":                          {Counts{3, 3}, FullDisruption},
		"three of four":                      {Counts{4, 3}, PartialDisruption},
		"three of five, 60 %":                {Counts{5, 3}, PartialDisruption},
		"three of six, 50 %":                 {Counts{6, 3}, Normal},
		"five of nine, 55.6 %":               {Counts{9, 5}, PartialDisruption},
		"11 of 20 is 55 % as float32":        {Counts{20, 11}, PartialDisruption},
		"22 of 40 likewise":                  {Counts{40, 22}, PartialDisruption},
		"33 of 60 likewise":                  {Counts{60, 33}, PartialDisruption},
		"550 of 1000 likewise":               {Counts{1000, 550}, PartialDisruption},
		"549 of 1000":                        {Counts{1000, 549}, Normal},
		"all but one of a hundred":           {Counts{100, 99}, PartialDisruption},
		"a hundred":                          {Counts{100, 100}, FullDisruption},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, stateOf(DefaultPolicy(), row.counts))
			require.Equal(t, row.counts.Total, row.counts.Good()+row.counts.Bad)
		})
	}
}

func TestStateWithOtherThresholds(t *testing.T) {
	p := DefaultPolicy()
	p.UnhealthyThreshold = 1
	require.Equal(t, Normal, stateOf(p, Counts{100, 99}))
	require.Equal(t, FullDisruption, stateOf(p, Counts{100, 100}), "full comes first")
	p.UnhealthyThreshold = 0.001
	require.Equal(t, Normal, stateOf(p, Counts{100, 2}), "more than two, at any threshold")
	require.Equal(t, PartialDisruption, stateOf(p, Counts{100, 3}))
	p.UnhealthyThreshold = 1e-300 // 0 as float32
	require.NoError(t, p.Validate())
	require.Equal(t, PartialDisruption, stateOf(p, Counts{1_000_000, 3}))
}

func TestRateOfState(t *testing.T) {
	p := DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 50, UnhealthyThreshold: 0.55}
	full := 0.02
	withFull := p
	withFull.FullDisruptionRate = &full
	none := 0.0
	withNone := p
	withNone.FullDisruptionRate = &none
	for name, row := range map[string]struct {
		policy DisruptionPolicy
		state  State
		counts Counts
		want   float64
	}{
		"initial":                     {p, Initial, Counts{}, 0.1},
		"normal":                      {p, Normal, Counts{100, 1}, 0.1},
		"normal, nothing counts":      {p, Normal, Counts{}, 0.1},
		"full":                        {p, FullDisruption, Counts{100, 100}, 0.1},
		"full, another rate":          {withFull, FullDisruption, Counts{100, 100}, 0.02},
		"full, stopped":               {withNone, FullDisruption, Counts{100, 100}, 0},
		"that rate is for full only":  {withFull, Normal, Counts{100, 0}, 0.1},
		"partial, 50 are small":       {p, PartialDisruption, Counts{50, 40}, 0},
		"partial, 51 are large":       {p, PartialDisruption, Counts{51, 40}, 0.01},
		"partial, with another rate":  {withFull, PartialDisruption, Counts{51, 40}, 0.01},
		"partial, the threshold is 0": {DisruptionPolicy{SecondaryEvictionRate: 1}, PartialDisruption, Counts{4, 3}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ruling := row.policy.Decide(Situation{State: row.state, Counts: row.counts})
			require.Equal(t, row.want, ruling.Rate)
			require.Equal(t, GoOn, ruling.Pending)
			require.Zero(t, ruling.AskAfter)
		})
	}
}

func TestDefaultPolicyIsUpstreams(t *testing.T) {
	p := DefaultPolicy()
	require.NoError(t, p.Validate())
	require.Equal(t, DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 50, UnhealthyThreshold: 0.55}, p)
}

func TestValidateReturnsEveryFault(t *testing.T) {
	negative := -0.5
	p := DisruptionPolicy{EvictionRate: math.NaN(), SecondaryEvictionRate: math.Inf(1), LargeZoneThreshold: -1, UnhealthyThreshold: math.NaN(), FullDisruptionRate: &negative}
	var faults utilerrors.Aggregate
	require.True(t, errors.As(p.Validate(), &faults))
	require.Len(t, faults.Errors(), 5)
	for _, name := range []string{"evictionRate", "secondaryEvictionRate", "fullDisruptionRate", "largeZoneThreshold", "unhealthyThreshold"} {
		require.ErrorContains(t, faults, name)
	}
	for _, threshold := range []float64{0, -0.1, 1.0001, math.Inf(1), math.Inf(-1)} {
		p := DefaultPolicy()
		p.UnhealthyThreshold = threshold
		require.ErrorContains(t, p.Validate(), "unhealthyThreshold", "%v", threshold)
	}
	require.Error(t, DisruptionPolicy{}.Validate(), "the zero value has no threshold")
}

// upstreamState is upstream's ComputeZoneState, written from its description. It counts one by one.
func upstreamState(ready []bool, threshold float32) State {
	readyNodes, notReadyNodes := 0, 0
	for _, r := range ready {
		if r {
			readyNodes++
		} else {
			notReadyNodes++
		}
	}
	if readyNodes == 0 && notReadyNodes > 0 {
		return FullDisruption
	}
	if notReadyNodes > 2 && float32(notReadyNodes)/float32(notReadyNodes+readyNodes) >= threshold {
		return PartialDisruption
	}
	return Normal
}

func TestStateEqualsUpstreams(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	seen := map[State]int{}
	for i := 0; i < 20_000; i++ {
		p := DefaultPolicy()
		if i%2 == 1 {
			p.UnhealthyThreshold = float64(1+random.Intn(20)) / 20
		}
		nodes := make([]bool, random.Intn(41))
		share := random.Intn(11)
		counts := Counts{Total: len(nodes)}
		for j := range nodes {
			nodes[j] = random.Intn(10) < share
			if !nodes[j] {
				counts.Bad++
			}
		}
		got := stateOf(p, counts)
		require.Equal(t, upstreamState(nodes, float32(p.UnhealthyThreshold)), got, "%v at %v", counts, p.UnhealthyThreshold)
		seen[got]++
	}
	require.Len(t, seen, 3, "all three states occurred")
}
