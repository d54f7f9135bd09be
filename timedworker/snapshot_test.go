package timedworker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A snapshot taken while work runs holds what would be left if the process ended right then.
func TestSnapshotWhileWorkRuns(t *testing.T) {
	for name, row := range map[string]struct {
		do   func(*recorder)
		want []SnapshotItem[string, int]
	}{
		"running":   {func(*recorder) {}, []SnapshotItem[string, int]{{Key: "k", Identity: "1", Value: 1}}},
		"cancelled": {func(r *recorder) { r.Cancel("k") }, []SnapshotItem[string, int]{}},
		"queued behind it": {
			func(r *recorder) { r.Schedule("k", 2, r.in(time.Minute)) },
			[]SnapshotItem[string, int]{{Key: "k", Identity: "1", Value: 2, In: time.Minute}},
		},
		"a successor is queued": {
			func(r *recorder) {
				r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "2", Value: 2, Due: r.in(time.Minute)})
			},
			[]SnapshotItem[string, int]{{Key: "k", Identity: "2", Value: 2, In: time.Minute}},
		},
		"cancelled, then scheduled": {
			func(r *recorder) { r.Cancel("k"); r.ScheduleEntry(Entry[string, int]{Key: "k", Value: 2}) },
			[]SnapshotItem[string, int]{{Key: "k", Value: 2}},
		},
		"queued, but what runs would be kept": {
			func(r *recorder) { r.ScheduleEntry(Entry[string, int]{Key: "k", Value: 2, OnDuplicate: KeepEarliest}) },
			[]SnapshotItem[string, int]{{Key: "k", Identity: "1", Value: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := recorded(t, Config{})
			r.result = func(Work[string, int]) Result {
				row.do(r)
				require.Equal(t, row.want, r.Snapshot().Items)
				return Forget()
			}
			r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", Value: 1})
			require.Equal(t, []string{"k"}, r.step(t, 0))
		})
	}
}

// Waiting work may go on for long. A snapshot may be restored meanwhile, and its work for the same key waits.
func TestRestoreBesideCancelledWork(t *testing.T) {
	r := recorded(t, Config{})
	snapshot := Snapshot[string, int]{Version: 1, Items: []SnapshotItem[string, int]{
		{Key: "k", Identity: "2", Value: 2, In: time.Second, PutOff: time.Minute, Attempts: 3}, {Key: "other", In: time.Minute},
	}, Pauses: []string{"upgrade"}}
	r.result = func(w Work[string, int]) Result {
		require.ErrorContains(t, r.Restore(snapshot), "work already")
		r.Clear()
		require.Equal(t, 1, r.Stats().InFlight, "what runs is still seen")
		require.NoError(t, r.Restore(snapshot))
		require.Equal(t, snapshot, r.Snapshot())
		return Retry(nil)
	}
	r.ScheduleEntry(Entry[string, int]{Key: "k", Identity: "1", Value: 1})
	r.ScheduleEntry(Entry[string, int]{Key: "gone", Due: r.in(time.Hour)})
	require.Equal(t, []string{"k"}, r.step(t, 0))
	require.Equal(t, snapshot, r.Snapshot())
	require.Equal(t, Waiting, r.ScheduleEntry(Entry[string, int]{Key: "k", Due: r.in(0), OnDuplicate: KeepEarliest}), "it was asked to run earlier")
	require.True(t, r.Resume("upgrade"))
	require.Equal(t, []string{"k"}, r.step(t, time.Second))
	require.Equal(t, 3, r.ran[0].Attempts)
}

func TestRestoreRefuses(t *testing.T) {
	item := SnapshotItem[string, int]{Key: "k"}
	for text, snapshot := range map[string]Snapshot[string, int]{
		"version 0":              {Items: []SnapshotItem[string, int]{item}},
		"version 2":              {Version: 2},
		"twice":                  {Version: 1, Items: []SnapshotItem[string, int]{item, {Key: "other"}, item}},
		"must not be negative":   {Version: 1, Items: []SnapshotItem[string, int]{item, {Key: "other", Attempts: -1}}},
		"putOff and attempts":    {Version: 1, Items: []SnapshotItem[string, int]{item, {Key: "other", PutOff: -1}}},
		"a reason to pause":      {Version: 1, Items: []SnapshotItem[string, int]{item}, Pauses: []string{"a", "b", "a"}},
		"timedworker: cannot re": {Version: -1},
	} {
		r := recorded(t, Config{})
		require.ErrorContains(t, r.Restore(snapshot), text)
		require.Zero(t, r.Len())
		require.Empty(t, r.Paused())
		require.Zero(t, r.Stats())
	}
	r := recorded(t, Config{})
	r.Schedule("there", 1, r.in(0))
	require.ErrorContains(t, r.Restore(Snapshot[string, int]{Version: 1}), "work already")
}
