package zone

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadersTakeNothingAway(t *testing.T) {
	tracker := newTracker(t)
	one, two := tracker.Reader(), tracker.Reader()
	require.Nil(t, one.Changes())
	setAll(tracker, zoneB, 2, 0)
	setAll(tracker, zoneA, 4, 0)
	require.Nil(t, one.Changes(), "it does not evaluate")
	first := tracker.Evaluate()
	require.Len(t, first, 2)
	require.Equal(t, first, one.Changes(), "the same changes in the same order as Evaluate")
	require.Nil(t, one.Changes())

	setAll(tracker, zoneA, 4, 3)
	second := tracker.Evaluate()
	require.Equal(t, second, one.Changes())
	require.Equal(t, []Change[Key]{
		{Zone: zoneA, From: Initial, To: PartialDisruption, Counts: Counts{4, 3}},
		{Zone: zoneB, From: Initial, To: Normal, Rate: 0.1, Counts: Counts{2, 0}},
	}, two.Changes(), "a reader that was not asked in between gets one merged change")
	require.Nil(t, two.Changes(), "and nothing twice")
	require.Len(t, tracker.Reader().Changes(), 2, "to a new reader everything is new")
}

func TestReaderOfZonesThatComeAndGo(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 1, 0)
	setAll(tracker, zoneB, 1, 0)
	reader := tracker.Reader()
	tracker.Evaluate()
	require.Len(t, reader.Changes(), 2)

	tracker.Set("c-0", zoneC, bad)
	tracker.Evaluate()
	tracker.Remove("c-0")
	tracker.Evaluate()
	require.Nil(t, reader.Changes(), "it came and went in between")

	tracker.Remove("a-0")
	tracker.Remove("b-0")
	tracker.Evaluate()
	setAll(tracker, zoneB, 1, 0)
	tracker.Evaluate()
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: Normal, To: Initial, Gone: true}}, reader.Changes(), "the other is back")

	tracker.Remove("b-0")
	tracker.Evaluate()
	setAll(tracker, zoneB, 1, 1)
	require.Equal(t, []Change[Key]{{Zone: zoneB, From: Normal, To: Initial, Gone: true}}, reader.Changes(), "it is back, but not evaluated")
	tracker.Evaluate()
	require.Equal(t, []Change[Key]{{Zone: zoneB, From: Initial, To: FullDisruption, Counts: Counts{1, 1}, Pending: Cancel, Cluster: Entered}}, reader.Changes())
	require.Len(t, reader.known, 1, "what is gone is forgotten")
}

func TestReaderComparesTwoMoments(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 1, 0)
	setAll(tracker, zoneB, 1, 0)
	reader := tracker.Reader()
	tracker.Evaluate()
	reader.Changes()

	setAll(tracker, zoneA, 1, 1)
	setAll(tracker, zoneB, 1, 1)
	require.Equal(t, Entered, tracker.Evaluate()[0].Cluster)
	setAll(tracker, zoneB, 1, 0)
	require.Equal(t, Left, tracker.Evaluate()[0].Cluster)
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: Normal, To: FullDisruption, Rate: 0.1, Counts: Counts{1, 1}}}, reader.Changes(),
		"entered and left between is no transition, there and back no change")

	setAll(tracker, zoneB, 1, 1)
	tracker.Evaluate()
	for _, c := range reader.Changes() {
		require.Equal(t, Entered, c.Cluster)
		require.Equal(t, Cancel, c.Pending)
	}
	require.NoError(t, tracker.Restore(Snapshot[string, Key]{Version: 1, Zones: []ZoneSnapshot[string, Key]{
		{Zone: zoneC, State: Normal, Before: Initial, Rate: 3, Members: []MemberSnapshot[string]{{Key: "c-0", Member: good}}},
	}}))
	require.Equal(t, []Change[Key]{
		{Zone: zoneA, From: FullDisruption, To: Initial, Cluster: Left, Gone: true},
		{Zone: zoneB, From: FullDisruption, To: Initial, Cluster: Left, Gone: true},
		{Zone: zoneC, From: Initial, To: Normal, Rate: 3, Counts: Counts{1, 0}, Cluster: Left},
	}, reader.Changes(), "a Restore is a change too")
}

// Nothing piles up for a reader that nobody asks again.
func TestForgottenReaderCostsNothing(t *testing.T) {
	tracker, err := New[int](Config[int]{Policy: DefaultPolicy()})
	require.NoError(t, err)
	reader := tracker.Reader()
	for i := range 10_000 {
		tracker.Set(i, i, good)
		tracker.Evaluate()
		tracker.Remove(i)
		tracker.Evaluate()
	}
	require.Empty(t, reader.known)
	require.Empty(t, tracker.domains.byKey)
	require.Empty(t, tracker.domains.known)
	require.Nil(t, tracker.domains.newest)
	require.Less(t, cap(tracker.domains.dirty)+cap(tracker.domains.known)+cap(tracker.domains.asked), 64)
	require.Nil(t, reader.Changes())
}

func TestReadersBesideEvaluations(t *testing.T) {
	tracker, err := New[int](Config[Key]{Policy: PolicyFunc(patient), Compare: Key.Compare})
	require.NoError(t, err)
	zones := []Key{zoneA, zoneB, zoneC}
	done := make(chan struct{})
	var feeders, readers sync.WaitGroup
	for worker := range 2 {
		feeders.Add(1)
		go func() {
			defer feeders.Done()
			for i := range 3000 {
				key := worker*1000 + i%20
				tracker.Set(key, zones[(i/20+worker)%3], Member{Ready: i%3 > 0})
				if i%5 == 0 {
					tracker.Remove(key)
				}
				tracker.EvaluateAt(epoch.Add(time.Duration(i) * time.Second))
			}
		}()
	}
	follow := func(reader *Reader[Key], stood map[Key]standing) {
		for _, c := range reader.Changes() {
			was, ok := stood[c.Zone]
			if !ok {
				was = start
			}
			if was.state != c.From {
				t.Error("the changes of a zone join up")
			}
			stood[c.Zone] = standing{c.To, c.Rate, c.Pending}
			if c.Gone {
				delete(stood, c.Zone)
			}
		}
	}
	type following struct {
		*Reader[Key]
		stood map[Key]standing
	}
	all := []following{{tracker.Reader(), map[Key]standing{}}, {tracker.Reader(), map[Key]standing{}}}
	for _, f := range all {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				follow(f.Reader, f.stood)
				select {
				case <-done:
					return
				default:
				}
			}
		}()
	}
	feeders.Wait()
	close(done)
	readers.Wait()
	tracker.Evaluate()
	for _, f := range all {
		follow(f.Reader, f.stood)
		stands := map[Key]standing{}
		for _, s := range tracker.Zones() {
			stands[s.Zone] = standing{s.State, s.Rate, s.Pending}
		}
		require.Equal(t, stands, f.stood)
	}
}
