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
	tracker, err := NewTracker[string](curious{DefaultPolicy(), &ask})
	require.NoError(t, err)
	asked := 0
	ask = func() {
		asked++
		tracker.Zones()
		tracker.AllDown()
		tracker.Set(fmt.Sprint("from within ", asked), zoneA, good)
	}
	tracker.Set("b-0", zoneB, good)
	require.Len(t, tracker.Evaluate(), 1, "what changed during the evaluation is left to the next call")
	require.Equal(t, 1, asked)
	changes := tracker.Evaluate()
	require.Len(t, changes, 1)
	require.Equal(t, Change[Key]{Zone: zoneA, From: Initial, To: Normal, Rate: 0.1, Counts: Counts{1, 0}}, changes[0])
	require.Equal(t, 3, asked)
	ask = func() {}
	require.Nil(t, tracker.Evaluate())
	require.Equal(t, 4, tracker.Len())
}

func TestAZoneThatFillsDuringAnEvaluationIsKept(t *testing.T) {
	ask := func() {}
	tracker, err := NewTracker[string](curious{DefaultPolicy(), &ask})
	require.NoError(t, err)
	tracker.Set("a-0", zoneA, good)
	tracker.Evaluate()
	tracker.Remove("a-0")
	ask = func() { tracker.Set("a-1", zoneA, good) }
	require.Nil(t, tracker.Evaluate())
	require.Nil(t, tracker.Evaluate())
	require.Equal(t, []Status[Key]{{Zone: zoneA, State: Normal, Rate: 0.1, Counts: Counts{1, 0}}}, tracker.Zones())
}

// fixed gives every zone the same ruling.
type fixed struct {
	state State
	rate  float64
}

func (f fixed) Decide(Situation) Ruling { return Ruling{State: f.state, Rate: f.rate} }

func TestInvalidRulingsAreMadeSafe(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
		tracker, err := NewTracker[string](fixed{Normal, rate})
		require.NoError(t, err)
		tracker.Set("a-0", zoneA, good)
		require.Equal(t, []Change[Key]{{Zone: zoneA, From: Initial, To: Normal, Counts: Counts{1, 0}}}, tracker.Evaluate(), "%v stops", rate)
		tracker.Set("a-1", zoneA, good)
		require.Nil(t, tracker.Evaluate(), "and does not count as a change each time")
	}
	for _, state := range []State{0, 5, 255} {
		tracker, err := NewTracker[string](fixed{state, 1})
		require.NoError(t, err)
		tracker.Set("a-0", zoneA, good)
		require.Equal(t, []Change[Key]{{Zone: zoneA, From: Initial, To: Initial, Rate: 1, Counts: Counts{1, 0}}}, tracker.Evaluate(), "%v is no verdict", state)
	}
}
