package zone

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAllDown(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 2, 0)
	setAll(tracker, zoneB, 2, 0)
	tracker.Set("spare", zoneC, excluded)
	require.Len(t, tracker.Evaluate(), 3)
	setAll(tracker, zoneA, 2, 2)
	require.Len(t, tracker.Evaluate(), 1)
	setAll(tracker, zoneB, 2, 2)
	require.Equal(t, []Change[Key]{
		{Zone: zoneA, From: FullDisruption, To: FullDisruption, Counts: Counts{2, 2}, Pending: Cancel, Cluster: Entered},
		{Zone: zoneB, From: Normal, To: FullDisruption, Counts: Counts{2, 2}, Pending: Cancel, Cluster: Entered},
		{Zone: zoneC, From: Normal, To: Normal, Pending: Cancel, Cluster: Entered},
	}, tracker.Evaluate(), "every zone, even one without a vote")
	require.True(t, tracker.AllDown())
	tracker.Set("a-2", zoneA, bad)
	require.Nil(t, tracker.Evaluate(), "still down")

	tracker.Set("b-1", zoneB, good)
	require.Equal(t, []Change[Key]{
		{Zone: zoneA, From: FullDisruption, To: FullDisruption, Rate: 0.1, Counts: Counts{3, 3}, Cluster: Left},
		{Zone: zoneB, From: FullDisruption, To: Normal, Rate: 0.1, Counts: Counts{2, 1}, Cluster: Left},
		{Zone: zoneC, From: Normal, To: Normal, Rate: 0.1, Cluster: Left},
	}, tracker.Evaluate())
	require.False(t, tracker.AllDown())
}

func TestAllDownFromTheStart(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 1, 1)
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: Initial, To: FullDisruption, Counts: Counts{1, 1}, Pending: Cancel, Cluster: Entered}}, tracker.Evaluate())
}

// Upstream leaves the rates of the old zones at 0 when a new zone brings the first ready node.
func TestAReadyNewcomerInANewZoneEndsAllDown(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 3, 3)
	require.Equal(t, Entered, tracker.Evaluate()[0].Cluster)
	tracker.Set("newcomer", zoneB, good)
	status, _ := tracker.Zone(zoneB)
	require.Zero(t, status.Rate, "it does not end before the next Evaluate")
	require.Equal(t, []Change[Key]{
		{Zone: zoneA, From: FullDisruption, To: FullDisruption, Rate: 0.1, Counts: Counts{3, 3}, Cluster: Left},
		{Zone: zoneB, From: Initial, To: Normal, Rate: 0.1, Counts: Counts{1, 0}, Cluster: Left},
	}, tracker.Evaluate())
}

func TestAnotherBadZoneDoesNotEndAllDown(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 3, 3)
	tracker.Evaluate()
	setAll(tracker, zoneB, 1, 1)
	tracker.Set("spare", zoneC, excluded)
	require.Equal(t, []Change[Key]{
		{Zone: zoneB, From: Initial, To: FullDisruption, Counts: Counts{1, 1}, Pending: Cancel},
		{Zone: zoneC, From: Initial, To: Normal, Pending: Cancel},
	}, tracker.Evaluate(), "nor does an excluded member, even if it is ready")
	require.True(t, tracker.AllDown())
}

func TestAllDownEndsWithTheLastCountedMember(t *testing.T) {
	for name, leave := range map[string]func(*Tracker[string, Key]){
		"removed":  func(tracker *Tracker[string, Key]) { tracker.Remove("a-0") },
		"excluded": func(tracker *Tracker[string, Key]) { tracker.Set("a-0", zoneA, Member{Excluded: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			tracker := newTracker(t)
			setAll(tracker, zoneA, 1, 1)
			tracker.Set("spare", zoneC, excluded)
			require.Len(t, tracker.Evaluate(), 2)
			leave(tracker)
			changes := tracker.Evaluate()
			require.Len(t, changes, 2)
			require.Equal(t, []Transition{Left, Left}, []Transition{changes[0].Cluster, changes[1].Cluster})
			require.Equal(t, name == "removed", changes[0].Gone)
			require.Equal(t, 0.1, changes[1].Rate)
			require.False(t, tracker.AllDown())
		})
	}
}
