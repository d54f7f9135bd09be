package zone

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSnapshotSurvivesAnotherProcess(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneB, 2, 0)
	setAll(tracker, zoneA, 2, 2)
	tracker.Set("spare", zoneA, Member{Ready: true, Excluded: true, Identity: "uid"})
	tracker.Evaluate()
	text, err := json.Marshal(tracker.Snapshot())
	require.NoError(t, err)
	require.JSONEq(t, `{"version":1,"allDown":false,"zones":[
		{"zone":{"region":"r","zone":"a"},"state":"FullDisruption","before":"Initial","rate":0.1,"pending":"GoOn","stateFor":0,"members":[
			{"key":"a-0","member":{"ready":false}},
			{"key":"a-1","member":{"ready":false}},
			{"key":"spare","member":{"ready":true,"excluded":true,"identity":"uid"}}]},
		{"zone":{"region":"r","zone":"b"},"state":"Normal","before":"Initial","rate":0.1,"pending":"GoOn","stateFor":0,"members":[
			{"key":"b-0","member":{"ready":true}},
			{"key":"b-1","member":{"ready":true}}]}]}`, string(text))

	var s Snapshot[string, Key]
	require.NoError(t, json.Unmarshal(text, &s))
	other := newTracker(t)
	setAll(other, zoneC, 9, 0)
	require.NoError(t, other.Restore(s))
	require.Equal(t, tracker.Zones(), other.Zones(), "everything is replaced")
	require.Nil(t, other.Evaluate(), "what was returned before is not returned again")
	other.Set("b-0", zoneB, bad)
	other.Set("b-1", zoneB, bad)
	require.Equal(t, Entered, other.Evaluate()[0].Cluster)
}

func TestSnapshotIsACopy(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 1, 0)
	tracker.Evaluate()
	s := tracker.Snapshot()
	s.Zones[0].Members[0].Key = "changed"
	s.Zones[0].State = FullDisruption
	_, _, ok := tracker.Get("a-0")
	require.True(t, ok)
	status, _ := tracker.Zone(zoneA)
	require.Equal(t, Normal, status.State)
}

func TestRestoreKeepsAllDown(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 2, 2)
	tracker.Evaluate()
	other := newTracker(t)
	require.NoError(t, other.Restore(tracker.Snapshot()))
	require.True(t, other.AllDown())
	require.Nil(t, other.Evaluate(), "it was entered already")
	other.Set("a-0", zoneA, good)
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: FullDisruption, To: Normal, Rate: 0.1, Counts: Counts{2, 1}, Cluster: Left}}, other.Evaluate())
}

func TestRestoreReportsWhatAnotherPolicySees(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 2, 0)
	tracker.Evaluate()
	p := DefaultPolicy()
	p.EvictionRate = 5
	other, err := NewTracker[string](p)
	require.NoError(t, err)
	require.NoError(t, other.Restore(tracker.Snapshot()))
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: Normal, To: Normal, Rate: 5, Counts: Counts{2, 0}}}, other.Evaluate())
}

func TestRestoreOfZonesWithoutMembers(t *testing.T) {
	tracker := newTracker(t)
	require.NoError(t, tracker.Restore(Snapshot[string, Key]{Version: 1, AllDown: true, Zones: []ZoneSnapshot[string, Key]{{Zone: zoneA, State: FullDisruption, Before: Normal}}}))
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: FullDisruption, To: Initial, Cluster: Left, Gone: true}}, tracker.Evaluate())
	setAll(tracker, zoneA, 1, 0)
	require.NoError(t, tracker.Restore(Snapshot[string, Key]{Version: 1}))
	require.Zero(t, tracker.Len())
	require.Nil(t, tracker.Evaluate())
}

func TestRestoreRefusesAsAWhole(t *testing.T) {
	member := func(key string) []MemberSnapshot[string] { return []MemberSnapshot[string]{{Key: key, Member: good}} }
	tracker := newTracker(t)
	setAll(tracker, zoneC, 3, 0)
	tracker.Evaluate()
	before := tracker.Snapshot()
	require.EqualError(t, tracker.Restore(Snapshot[string, Key]{Version: 2}), "version: Invalid value: 2: must be 1")
	past := -time.Second
	err := tracker.Restore(Snapshot[string, Key]{AllDown: true, Zones: []ZoneSnapshot[string, Key]{
		{Zone: zoneA, State: Normal, Rate: 1, Members: member("n")},
		{Zone: zoneB, State: 0, Rate: math.NaN(), Members: member("n")},
		{Zone: zoneA, State: 9, Before: Normal, Pending: 3, StateFor: past, BadFor: &past, AskAfter: &past, Members: member("m")},
	}})
	for _, fault := range []string{
		"version: Invalid value: 0", "zones[0].before", "zones[2].pending", "Pending(3)", "zones[2].stateFor", "zones[2].badFor", "zones[2].askAfter", "-1s",
		"zones[0].rate", "must be 0 while all zones are down", "zones[1].state", "State(0)", "zones[1].rate", "zones[1].members[0].key", `Duplicate value: "n"`,
		"zones[2].zone", `"r:a"`, "zones[2].state", "State(9)",
	} {
		require.ErrorContains(t, err, fault)
	}
	require.Equal(t, before, tracker.Snapshot())
}
