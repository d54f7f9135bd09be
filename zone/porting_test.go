package zone

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What maintainers of other circuit breakers would ask before replacing theirs; see MIGRATING.md. The tests that
// upstream's zone states come out unchanged are in package evictor, which knows nodes.

// Medik8s: when everything is healthy again, a disruption is over at once, without waiting for the next failure. That
// also holds in a process that learned of the disruption from a snapshot. The next failure starts from a clean slate.
func TestBreakerThatEndsAllHealthyClearsByItself(t *testing.T) {
	for name, down := range map[string]map[Key]int{ // of ten in each zone
		"one zone in part":     {zoneA: 6},
		"one zone":             {zoneA: 10},
		"both zones in part":   {zoneA: 6, zoneB: 6},
		"one, and one in part": {zoneA: 10, zoneB: 6},
		"every zone":           {zoneA: 10, zoneB: 10},
	} {
		t.Run(name, func(t *testing.T) {
			tracker := newTracker(t)
			both := func(down map[Key]int) []Change {
				setAll(tracker, zoneA, 10, down[zoneA])
				setAll(tracker, zoneB, 10, down[zoneB])
				return tracker.Evaluate(epoch)
			}
			both(nil)
			require.NotEmpty(t, both(down))
			require.Equal(t, name == "every zone", tracker.AllDown())
			for _, change := range both(nil) {
				require.Equal(t, Normal, change.State)
				require.False(t, change.AllDown)
			}
			require.False(t, tracker.AllDown())
			requireNormal(t, tracker)
			require.Nil(t, both(map[Key]int{zoneA: 1}), "the next failure is one failure")
			requireNormal(t, tracker)
		})
	}
}

func requireNormal(t *testing.T, tracker *Tracker[string]) {
	t.Helper()
	for _, zone := range tracker.Zones() {
		require.Equal(t, Normal, zone.State)
		require.Equal(t, 0.1, zone.Rate)
	}
}

// Katalyst: a share is a share of all, not of the rest. The counts travel as one struct, so that nobody mistakes one
// for the other.
func TestTotalAndBadCannotBeConfused(t *testing.T) {
	var _ Counts = Situation{}.Counts // no two numbers side by side
	policy := DefaultPolicy()
	policy.UnhealthyThreshold = 0.2
	tracker, err := New[string](policy)
	require.NoError(t, err)
	setAll(tracker, zoneB, 1, 0)
	for _, row := range []struct {
		bad  int
		want State
	}{
		{3, Normal}, {4, PartialDisruption}, // 4 of 20, and not of 24
		{19, PartialDisruption}, {20, FullDisruption}, // which can be reached
	} {
		setAll(tracker, zoneA, 20, row.bad)
		tracker.Evaluate(epoch)
		status, _ := tracker.Zone(zoneA)
		require.Equal(t, row.want, status.State)
		require.Equal(t, Counts{Total: 20, Bad: row.bad}, status.Counts)
	}
}

// OpenYurt's pull request 2500: a label that changes in the middle of a pass moves the member once, and no zone is
// missing, whichever is asked about first.
func TestZoneThatFlipsDuringAnEvaluation(t *testing.T) {
	flip := func() {}
	tracker, err := New[string](curious{DefaultPolicy(), &flip})
	require.NoError(t, err)
	setAll(tracker, zoneA, 3, 1)
	setAll(tracker, zoneB, 3, 0)
	to := []Key{zoneB, zoneC, zoneA, {}}
	flips, where := 0, zoneA
	flip = func() {
		where = to[flips%len(to)]
		tracker.Set("a-0", where, bad)
		flips++
	}
	for range 20 {
		tracker.Evaluate(epoch)
		sum := Counts{}
		for _, zone := range tracker.Zones() {
			sum.Total += zone.Counts.Total
			sum.Bad += zone.Counts.Bad
			require.Equal(t, zone.Zone == where, zone.Counts.Bad == 1, "it counts where it is")
		}
		require.Equal(t, Counts{Total: 6, Bad: 1}, sum)
	}
	flip = func() {}
	tracker.Set("a-0", zoneC, bad)
	tracker.Evaluate(epoch)
	tracker.Evaluate(epoch)
	require.Equal(t, []Status{
		{zoneA, Normal, 0.1, Counts{2, 0}},
		{zoneB, Normal, 0.1, Counts{3, 0}},
		{zoneC, FullDisruption, 0.1, Counts{1, 1}},
	}, tracker.Zones(), "and zones that it only passed through are gone")
	require.Greater(t, flips, 20)
}
