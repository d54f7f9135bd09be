package nodepressure_test

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/internal/clockcases"
)

// TestWallIsSetDuringAGracePeriod: the period ends when its time has passed, whatever the wall clock shows.
func TestWallIsSetDuringAGracePeriod(t *testing.T) {
	for _, one := range clockcases.Cases() {
		if !one.Monotonic && one.Set > 0 {
			continue // forward counts as time passed
		}
		t.Run(one.String(), func(t *testing.T) {
			clock := one.Clock()
			config := thresholds(softly(MemoryAvailable, "1Gi", 2*time.Minute))
			config.Clock = clock
			machine, err := New(config)
			require.NoError(t, err)
			short := Stats{Signals: map[Signal]Sample{MemoryAvailable: {}}, Pods: []Pod{build("a", low)}}
			require.Equal(t, Nothing, machine.Observe(short).Action)
			clock.Pass(30 * time.Second)
			require.Equal(t, Nothing, machine.Observe(short).Action)

			clock.Pass(15 * time.Second)
			clock.Set(one.Set)
			lost := time.Duration(0)
			if !one.Monotonic {
				lost = 15 * time.Second // time before the step back is lost
			}
			d := machine.Observe(short)
			require.Equal(t, Nothing, d.Action)
			require.Equal(t, 45*time.Second-lost, d.Time.Sub(d.Met[0].Since))
			require.Equal(t, clock.Now().Round(0), d.Time.Round(0), "instants are as the clock shows them now")
			next, ok := machine.Next()
			require.True(t, ok)
			require.Equal(t, 75*time.Second+lost, next.Round(0).Sub(clock.Now().Round(0)))

			clock.Pass(75*time.Second + lost - 1)
			require.Equal(t, Nothing, machine.Observe(short).Action)
			clock.Pass(1)
			require.Equal(t, EvictPods, machine.Observe(short).Action)
		})
	}
}

// TestWallIsSetDuringATransitionPeriod: a condition outlasts its shortage for exactly the transition period.
func TestWallIsSetDuringATransitionPeriod(t *testing.T) {
	for _, one := range clockcases.Cases() {
		if !one.Monotonic && one.Set > 0 {
			continue
		}
		t.Run(one.String(), func(t *testing.T) {
			clock := one.Clock()
			config := thresholds(hardly(MemoryAvailable, "1Gi"))
			config.Clock = clock
			machine, err := New(config)
			require.NoError(t, err)
			under := []v1.NodeConditionType{v1.NodeMemoryPressure}
			require.Equal(t, under, machine.Observe(sample(MemoryAvailable, "0")).Conditions)
			clock.Pass(time.Second)
			clock.Set(one.Set)
			require.Equal(t, under, machine.Observe(sample(MemoryAvailable, "2Gi")).Conditions)
			lost := time.Duration(0)
			if !one.Monotonic {
				lost = time.Second
			}
			next, ok := machine.Next()
			require.True(t, ok)
			require.Equal(t, config.PressureTransitionPeriod-time.Second+lost, next.Round(0).Sub(clock.Now().Round(0)))
			clock.Pass(config.PressureTransitionPeriod - time.Second + lost - 1)
			require.Equal(t, under, machine.Observe(sample(MemoryAvailable, "2Gi")).Conditions)
			clock.Pass(1)
			require.Empty(t, machine.Observe(sample(MemoryAvailable, "2Gi")).Conditions)
			require.False(t, pending(machine))
		})
	}
}

func pending(machine *Machine) bool {
	_, ok := machine.Next()
	return ok
}

// TestWallAloneThatGoesForwardIsTime: without monotonic readings, forward counts as time passed.
func TestWallAloneThatGoesForwardIsTime(t *testing.T) {
	clock := clockcases.New(false)
	config := thresholds(softly(MemoryAvailable, "1Gi", time.Minute))
	config.Clock = clock
	machine, err := New(config)
	require.NoError(t, err)
	short := Stats{Signals: map[Signal]Sample{MemoryAvailable: {}}, Pods: []Pod{build("a", low)}}
	require.Equal(t, Nothing, machine.Observe(short).Action)
	clock.Set(time.Hour)
	require.Equal(t, EvictPods, machine.Observe(short).Action)
}

// TestJumpsDecideNothing: two machines see the same samples at the same instants, one with a wall clock that is set at
// random. Both decide the same.
func TestJumpsDecideNothing(t *testing.T) {
	acted, jumps := 0, clockcases.Cases()
	for seed := int64(0); seed < 100; seed++ {
		r := rand.New(rand.NewSource(seed))
		config := randomConfig(r)
		pods := randomPods(r)
		clocks := []*clockcases.Clock{clockcases.New(true), clockcases.New(true)}
		machines := make([]*Machine, len(clocks))
		for i, clock := range clocks {
			config.Clock = clock
			machine, err := New(config)
			require.NoError(t, err)
			machines[i] = machine
		}
		for step := 0; step < 20; step++ {
			passed := time.Duration(r.Intn(40)) * time.Second
			stats := randomStats(r, epoch.Add(time.Duration(step*20)*time.Second), pods)
			if r.Intn(3) == 0 {
				clocks[1].Set(jumps[r.Intn(len(jumps))].Set)
			}
			var decisions [2]Decision
			for i, machine := range machines {
				clocks[i].Pass(passed)
				decisions[i] = machine.Observe(stats)
			}
			where := fmt.Sprintf("seed %d step %d", seed, step)
			require.Equal(t, decisions[0].Action, decisions[1].Action, where)
			require.Equal(t, decisions[0].Conditions, decisions[1].Conditions, where)
			require.Equal(t, evicted(decisions[0].Evictions), evicted(decisions[1].Evictions), where)
			require.Len(t, decisions[1].Met, len(decisions[0].Met), where)
			for i, met := range decisions[0].Met {
				require.Equal(t, met.Due, decisions[1].Met[i].Due, where)
				require.Equal(t, decisions[0].Time.Sub(met.Since), decisions[1].Time.Sub(decisions[1].Met[i].Since), where)
			}
			require.Equal(t, pending(machines[0]), pending(machines[1]), where)
			if slices.Contains([]Action{EvictPods, ReclaimNode}, decisions[0].Action) {
				acted++
			}
		}
	}
	require.Greater(t, acted, 100)
}
