package zone

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// curious calls the tracker from inside Decide, as a policy that logs might.
type curious struct {
	DisruptionPolicy
	ask *func()
}

func (c curious) Decide(s Situation) Ruling {
	(*c.ask)()
	return c.DisruptionPolicy.Decide(s)
}

func TestThePolicyIsAskedOutsideTheLock(t *testing.T) {
	ask := func() {}
	tracker, err := New[string](curious{DefaultPolicy(), &ask})
	require.NoError(t, err)
	asked := 0
	ask = func() {
		asked++
		tracker.Zones()
		tracker.AllDown()
		tracker.Set(fmt.Sprint("from within ", asked), zoneA, good)
	}
	for _, zone := range []Key{zoneB, zoneC, {"r", "d"}} {
		tracker.Set(zone.Zone, zone, good)
	}
	require.Len(t, tracker.Evaluate(epoch), 3, "what changed during the evaluation is left to the next call")
	require.Equal(t, 3, asked)
	changes := tracker.Evaluate(epoch)
	require.Len(t, changes, 1)
	require.Equal(t, Change{Status: Status{zoneA, Normal, 0.1, Counts{3, 0}}, From: Initial}, changes[0])
	require.Equal(t, 7, asked)
	ask = func() {}
	require.Nil(t, tracker.Evaluate(epoch))
	require.Equal(t, Counts{7, 0}, tracker.Zones()[0].Counts)
}

func TestAZoneThatFillsDuringAnEvaluationIsKept(t *testing.T) {
	ask := func() {}
	tracker, err := New[string](curious{DefaultPolicy(), &ask})
	require.NoError(t, err)
	tracker.Set("a-0", zoneA, good)
	tracker.Evaluate(epoch)
	tracker.Remove("a-0", "")
	ask = func() { tracker.Set("a-1", zoneA, good) }
	require.Nil(t, tracker.Evaluate(epoch))
	require.Nil(t, tracker.Evaluate(epoch))
	require.Equal(t, []Status{{zoneA, Normal, 0.1, Counts{1, 0}}}, tracker.Zones())
}

// fixed gives every zone the same ruling.
type fixed struct {
	state State
	rate  float64
}

func (f fixed) Decide(Situation) Ruling { return Ruling{State: f.state, Rate: f.rate} }

func TestInvalidRulingsAreMadeSafe(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		tracker, err := New[string](fixed{Normal, rate})
		require.NoError(t, err)
		tracker.Set("a-0", zoneA, good)
		require.Equal(t, []Change{{Status: Status{zoneA, Normal, 0, Counts{1, 0}}, From: Initial}}, tracker.Evaluate(epoch), "%v stops", rate)
		tracker.Set("a-1", zoneA, good)
		require.Nil(t, tracker.Evaluate(epoch), "and does not count as a change each time")
	}
	for _, state := range []State{"", "normal", "Entered"} {
		tracker, err := New[string](fixed{state, 1})
		require.NoError(t, err)
		tracker.Set("a-0", zoneA, good)
		require.Equal(t, []Change{{Status: Status{zoneA, Initial, 1, Counts{1, 0}}, From: Initial}}, tracker.Evaluate(epoch), "%v is no verdict", state)
	}
}
