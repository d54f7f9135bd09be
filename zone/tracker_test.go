package zone

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"
)

var (
	zoneA = Key{"r", "a"}
	zoneB = Key{"r", "b"}
	zoneC = Key{"r", "c"}

	good = Member{Ready: true}
	bad  = Member{}
)

func newTracker(t *testing.T) *Tracker[string, Key] {
	t.Helper()
	tracker, err := New[string](Config[Key]{Policy: DefaultPolicy(), Compare: Key.Compare, Clock: clocktesting.NewFakePassiveClock(epoch)})
	require.NoError(t, err)
	return tracker
}

// setAll gives a zone the members zone-0, zone-1 ..., the first few of them bad.
func setAll(tracker *Tracker[string, Key], zone Key, total, down int) {
	for i := 0; i < total; i++ {
		tracker.Set(fmt.Sprint(zone.Zone, "-", i), zone, Member{Ready: i >= down})
	}
}

func TestAPointerToAPolicyWillDo(t *testing.T) {
	p := DefaultPolicy()
	_, err := NewTracker[int](&p)
	require.NoError(t, err)
}

func TestAPartialZoneThatGrowsGetsItsRate(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 50, 40)
	changes := tracker.Evaluate()
	require.Len(t, changes, 1)
	require.Zero(t, changes[0].Rate)
	tracker.Set("one more", zoneA, bad)
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: PartialDisruption, To: PartialDisruption, Rate: 0.01, Counts: Counts{51, 41}}}, tracker.Evaluate())
	require.True(t, tracker.Remove("one more"))
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: PartialDisruption, To: PartialDisruption, Counts: Counts{50, 40}}}, tracker.Evaluate())
}

// Upstream deletes such a zone in every pass and makes it again in the next, with a full bucket.
func TestAZoneOfExcludedMembersStays(t *testing.T) {
	tracker := newTracker(t)
	tracker.Set("spare", zoneA, Member{Excluded: true})
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: Initial, To: Normal, Rate: 0.1}}, tracker.Evaluate())
	for i := 0; i < 3; i++ {
		tracker.Set("spare", zoneA, Member{Excluded: true, Ready: i%2 == 0})
		require.Nil(t, tracker.Evaluate())
	}
	require.Equal(t, []Status[Key]{{Zone: zoneA, State: Normal, Rate: 0.1}}, tracker.Zones())
	require.False(t, tracker.AllDown())
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

func TestConcurrentUse(t *testing.T) {
	tracker, err := NewTracker[int](DefaultPolicy())
	require.NoError(t, err)
	zones := []Key{zoneA, zoneB, zoneC}
	last := map[Key]Change[Key]{}
	var feeders sync.WaitGroup
	done := make(chan struct{})
	for worker := 0; worker < 4; worker++ {
		feeders.Add(1)
		go func() {
			defer feeders.Done()
			for i := 0; i < 2000; i++ {
				key := worker*1000 + i%50
				tracker.Set(key, zones[(i/50+worker)%3], Member{Ready: i%3 > 0})
				if i%7 == 0 {
					tracker.Remove(key)
				}
				tracker.Zones()
				tracker.AllDown()
			}
		}()
	}
	go func() { feeders.Wait(); close(done) }()
	note := func() {
		for _, c := range tracker.Evaluate() {
			if was, ok := last[c.Zone]; ok && !was.Gone {
				require.Equal(t, was.To, c.From, "the changes of a zone join up")
			}
			last[c.Zone] = c
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
			note()
		}
	}
	note()
	sum := Counts{}
	for _, s := range tracker.Zones() {
		require.Equal(t, last[s.Zone].To, s.State)
		require.Equal(t, last[s.Zone].Rate, s.Rate)
		sum.Total += s.Counts.Total
		sum.Bad += s.Counts.Bad
	}
	require.Equal(t, tracker.Len(), sum.Total)
	require.Equal(t, tracker.Cluster(), sum)
}

// Memory of zones that are gone is given back, and many may come at once in front of all others.
func TestManyZonesComeAndGo(t *testing.T) {
	const zones = 20_000
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	tracker, err := New[int](Config[int]{Policy: DefaultPolicy(), Compare: cmp.Compare[int]})
	require.NoError(t, err)
	before := inUse()
	for part := range 4 {
		for i := range zones / 4 {
			tracker.Set(-part*zones-i, -part*zones-i, Member{Ready: true})
		}
		require.Len(t, tracker.Evaluate(), zones/4)
	}
	peak := inUse() - before
	require.True(t, slices.IsSortedFunc(tracker.Zones(), func(a, b Status[int]) int { return a.Zone - b.Zone }))
	for _, status := range tracker.Zones()[1:] {
		require.True(t, tracker.Remove(status.Zone))
	}
	require.Len(t, tracker.Evaluate(), zones-1)
	tracker.Set(1, tracker.Zones()[0].Zone, Member{})
	tracker.Evaluate()
	require.Less(t, inUse()-before, peak/20)
	runtime.KeepAlive(tracker)
}

func TestAZoneBeginsAndChanges(t *testing.T) {
	tracker := newTracker(t)
	require.Nil(t, tracker.Evaluate(), "no zones, no changes")
	require.Empty(t, tracker.Zones())
	setAll(tracker, zoneA, 4, 0)
	status, ok := tracker.Zone(zoneA)
	require.True(t, ok)
	require.Equal(t, Status[Key]{Zone: zoneA, State: Initial, Counts: Counts{4, 0}}, status, "no rate before it is evaluated")

	require.Equal(t, []Change[Key]{{Zone: zoneA, From: Initial, To: Normal, Rate: 0.1, Counts: Counts{4, 0}}}, tracker.Evaluate())
	require.Nil(t, tracker.Evaluate())
	setAll(tracker, zoneA, 4, 2)
	require.Nil(t, tracker.Evaluate(), "counts are not a change")
	setAll(tracker, zoneB, 1, 0)
	setAll(tracker, zoneA, 4, 3)
	require.Equal(t, []Change[Key]{
		{Zone: zoneA, From: Normal, To: PartialDisruption, Counts: Counts{4, 3}},
		{Zone: zoneB, From: Initial, To: Normal, Rate: 0.1, Counts: Counts{1, 0}},
	}, tracker.Evaluate(), "by key")
	setAll(tracker, zoneA, 4, 4)
	require.Equal(t, []Change[Key]{{Zone: zoneA, From: PartialDisruption, To: FullDisruption, Rate: 0.1, Counts: Counts{4, 4}}}, tracker.Evaluate(),
		"while another zone is not down, a zone that is gets the primary rate")
	require.False(t, tracker.AllDown())
	require.Equal(t, Counts{5, 4}, tracker.Cluster())
}

func TestIdentity(t *testing.T) {
	tracker := newTracker(t)
	tracker.Set("n", zoneA, Member{Ready: true, Identity: "old"})
	tracker.Set("n", zoneA, Member{Ready: true, Identity: "new"})
	require.Equal(t, 1, tracker.Len(), "the same key is one member")
	require.False(t, tracker.RemoveIdentity("n", "old"), "a late event about the old member")
	_, member, _ := tracker.Get("n")
	require.Equal(t, "new", member.Identity)
	require.True(t, tracker.RemoveIdentity("n", "new"))
	require.False(t, tracker.RemoveIdentity("n", "new"))
	require.False(t, tracker.Remove("n"))

	tracker.Set("n", zoneA, good)
	require.True(t, tracker.RemoveIdentity("n", "any"), "an empty identity matches any")
	tracker.Set("n", zoneA, Member{Identity: "new"})
	require.True(t, tracker.Remove("n"), "also if the caller gives none")
	_, _, ok := tracker.Get("n")
	require.False(t, ok)
}

func TestAllDown(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 2, 0)
	setAll(tracker, zoneB, 2, 0)
	tracker.Set("spare", zoneC, Member{Ready: true, Excluded: true})
	require.Len(t, tracker.Evaluate(), 3)
	setAll(tracker, zoneA, 2, 2)
	require.Len(t, tracker.Evaluate(), 1)
	setAll(tracker, zoneB, 2, 2)
	require.Equal(t, []Change[Key]{
		{Zone: zoneA, From: FullDisruption, To: FullDisruption, Counts: Counts{2, 2}, Cluster: Entered},
		{Zone: zoneB, From: Normal, To: FullDisruption, Counts: Counts{2, 2}, Cluster: Entered},
		{Zone: zoneC, From: Normal, To: Normal, Cluster: Entered},
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
