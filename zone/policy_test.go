package zone

import (
	"errors"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

func stateOf(p Policy, c Counts) State { return p.Decide(Situation{Status: Status{Counts: c}}).State }

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

// The state that the zone had does not matter. Rates of a partial disruption are in TestAPartialZoneThatGrowsGetsItsRate.
func TestRateOfState(t *testing.T) {
	p := DefaultPolicy()
	for name, row := range map[string]struct {
		policy DisruptionPolicy
		state  State
		counts Counts
		want   float64
	}{
		"full":                        {p, Initial, Counts{100, 100}, 0.1},
		"full no longer":              {p, FullDisruption, Counts{100, 0}, 0.1},
		"partial, the threshold is 0": {DisruptionPolicy{SecondaryEvictionRate: 1}, PartialDisruption, Counts{4, 3}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			ruling := row.policy.Decide(Situation{Status: Status{State: row.state, Counts: row.counts}})
			require.Equal(t, Ruling{State: ruling.State, Rate: row.want}, ruling)
		})
	}
}

func TestDefaultPolicyIsUpstreams(t *testing.T) {
	p := DefaultPolicy()
	require.NoError(t, p.Validate())
	require.Equal(t, DisruptionPolicy{EvictionRate: 0.1, SecondaryEvictionRate: 0.01, LargeZoneThreshold: 50, UnhealthyThreshold: 0.55}, p)
}

func TestValidateReturnsEveryFault(t *testing.T) {
	p := DisruptionPolicy{EvictionRate: math.NaN(), SecondaryEvictionRate: math.Inf(1), LargeZoneThreshold: -1, UnhealthyThreshold: math.NaN()}
	var faults utilerrors.Aggregate
	require.True(t, errors.As(p.Validate(), &faults))
	require.Len(t, faults.Errors(), 4)
	for _, name := range []string{"evictionRate", "secondaryEvictionRate", "largeZoneThreshold", "unhealthyThreshold"} {
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
