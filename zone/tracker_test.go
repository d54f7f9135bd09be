package zone

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	zoneA = Key{"r", "a"}
	zoneB = Key{"r", "b"}
	zoneC = Key{"r", "c"}

	good = Member{Ready: true}
	bad  = Member{}
)

func newTracker(t *testing.T) *Tracker[string] {
	t.Helper()
	tracker, err := New[string](DefaultPolicy())
	require.NoError(t, err)
	return tracker
}

// setAll gives a zone the members zone-0, zone-1 ..., the first few of them bad.
func setAll(tracker *Tracker[string], zone Key, total, down int) {
	for i := 0; i < total; i++ {
		tracker.Set(fmt.Sprint(zone.Zone, "-", i), zone, Member{Ready: i >= down})
	}
}

func TestAPointerToAPolicyWillDo(t *testing.T) {
	p := DefaultPolicy()
	_, err := New[int](&p)
	require.NoError(t, err)
}

func TestAPartialZoneThatGrowsGetsItsRate(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 50, 40)
	changes := tracker.Evaluate(epoch)
	require.Len(t, changes, 1)
	require.Zero(t, changes[0].Rate)
	tracker.Set("one more", zoneA, bad)
	require.Equal(t, []Change{{Status: Status{zoneA, PartialDisruption, 0.01, Counts{51, 41}}, From: PartialDisruption}}, tracker.Evaluate(epoch))
	require.True(t, tracker.Remove("one more", ""))
	require.Equal(t, []Change{{Status: Status{zoneA, PartialDisruption, 0, Counts{50, 40}}, From: PartialDisruption}}, tracker.Evaluate(epoch))
}

// Upstream deletes such a zone in every pass and makes it again in the next, with a full bucket.
func TestAZoneOfExcludedMembersStays(t *testing.T) {
	tracker := newTracker(t)
	tracker.Set("spare", zoneA, Member{Excluded: true})
	require.Equal(t, []Change{{Status: Status{zoneA, Normal, 0.1, Counts{}}, From: Initial}}, tracker.Evaluate(epoch))
	for i := 0; i < 3; i++ {
		tracker.Set("spare", zoneA, Member{Excluded: true, Ready: i%2 == 0})
		require.Nil(t, tracker.Evaluate(epoch))
	}
	require.Equal(t, []Status{{zoneA, Normal, 0.1, Counts{}}}, tracker.Zones())
	require.False(t, tracker.AllDown())
}

// Upstream leaves the rates of the old zones at 0 when a new zone brings the first ready node.
func TestAReadyNewcomerInANewZoneEndsAllDown(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 3, 3)
	require.True(t, tracker.Evaluate(epoch)[0].AllDown)
	tracker.Set("newcomer", zoneB, good)
	status, _ := tracker.Zone(zoneB)
	require.Zero(t, status.Rate, "it does not end before the next Evaluate")
	require.Equal(t, []Change{
		{Status: Status{zoneA, FullDisruption, 0.1, Counts{3, 3}}, From: FullDisruption},
		{Status: Status{zoneB, Normal, 0.1, Counts{1, 0}}, From: Initial},
	}, tracker.Evaluate(epoch))
}

func TestConcurrentUse(t *testing.T) {
	tracker, err := New[int](DefaultPolicy())
	require.NoError(t, err)
	zones := []Key{zoneA, zoneB, zoneC}
	var mu sync.Mutex
	entered, left := map[Key]map[State]int{}, map[Key]map[State]int{} // how often each state of a zone
	for _, z := range zones {
		entered[z], left[z] = map[State]int{Initial: 1}, map[State]int{}
	}
	evaluate := func(now time.Time) {
		changes := tracker.Evaluate(now)
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			left[c.Zone][c.From]++
			entered[c.Zone][c.State]++
		}
	}
	var workers sync.WaitGroup
	var known atomic.Int64
	for worker := range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			mine := map[int]bool{}
			defer func() { known.Add(int64(len(mine))) }()
			for i := range 2000 {
				key, zone := worker*1000+i%10, zones[(i/10+worker)%3]
				tracker.Set(key, zone, Member{Ready: i/10%2 > 0})
				mine[key] = true
				if i%7 == 0 {
					if !tracker.Remove(key, "") {
						t.Errorf("%d is not there", key)
					}
					delete(mine, key)
				}
				evaluate(epoch.Add(time.Duration(i)))
				tracker.Next(epoch.Add(time.Duration(i)))
				tracker.Zone(zone)
				tracker.Zones()
				tracker.AllDown()
			}
		}()
	}
	workers.Wait()
	evaluate(epoch)
	total := 0
	for _, s := range tracker.Zones() {
		left[s.Zone][s.State]++
		require.Equal(t, entered[s.Zone], left[s.Zone], "each change is returned once, whoever evaluates")
		total += s.Counts.Total
	}
	require.EqualValues(t, known.Load(), total)
	checkInvariants(t, tracker)
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
	tracker, err := New[int](DefaultPolicy())
	require.NoError(t, err)
	before := inUse()
	for part := range 4 {
		for i := range zones / 4 {
			n := (4-part)*zones - i
			tracker.Set(n, Key{Zone: fmt.Sprintf("%06d", n)}, Member{Ready: true})
		}
		require.Len(t, tracker.Evaluate(epoch), zones/4)
	}
	peak := inUse() - before
	require.True(t, slices.IsSortedFunc(tracker.Zones(), func(a, b Status) int { return strings.Compare(a.Zone.Zone, b.Zone.Zone) }))
	for _, status := range tracker.Zones()[1:] {
		n, err := strconv.Atoi(strings.TrimLeft(status.Zone.Zone, "0"))
		require.NoError(t, err)
		require.True(t, tracker.Remove(n, ""))
	}
	require.Len(t, tracker.Evaluate(epoch), zones-1)
	tracker.Set(1, tracker.Zones()[0].Zone, Member{})
	tracker.Evaluate(epoch)
	require.Less(t, inUse()-before, peak/20)
	runtime.KeepAlive(tracker)
}

func TestAZoneBeginsAndChanges(t *testing.T) {
	tracker := newTracker(t)
	require.Nil(t, tracker.Evaluate(epoch), "no zones, no changes")
	require.Empty(t, tracker.Zones())
	setAll(tracker, zoneA, 4, 0)
	status, ok := tracker.Zone(zoneA)
	require.True(t, ok)
	require.Equal(t, Status{zoneA, Initial, 0, Counts{4, 0}}, status, "no rate before it is evaluated")

	require.Equal(t, []Change{{Status: Status{zoneA, Normal, 0.1, Counts{4, 0}}, From: Initial}}, tracker.Evaluate(epoch))
	require.Nil(t, tracker.Evaluate(epoch))
	setAll(tracker, zoneA, 4, 2)
	require.Nil(t, tracker.Evaluate(epoch), "counts are not a change")
	setAll(tracker, zoneB, 1, 0)
	setAll(tracker, zoneA, 4, 3)
	require.Equal(t, []Change{
		{Status: Status{zoneA, PartialDisruption, 0, Counts{4, 3}}, From: Normal},
		{Status: Status{zoneB, Normal, 0.1, Counts{1, 0}}, From: Initial},
	}, tracker.Evaluate(epoch), "by key")
	setAll(tracker, zoneA, 4, 4)
	require.Equal(t, []Change{{Status: Status{zoneA, FullDisruption, 0.1, Counts{4, 4}}, From: PartialDisruption}}, tracker.Evaluate(epoch),
		"while another zone is not down, a zone that is gets the primary rate")
	require.False(t, tracker.AllDown())
}

func TestIdentity(t *testing.T) {
	tracker := newTracker(t)
	tracker.Set("n", zoneA, Member{Ready: true, Identity: "old"})
	tracker.Set("n", zoneA, Member{Ready: true, Identity: "new"})
	require.Equal(t, 1, tracker.Zones()[0].Counts.Total, "the same key is one member")
	require.False(t, tracker.Remove("n", "old"), "a late event about the old member")
	require.Equal(t, 1, tracker.Zones()[0].Counts.Total)
	require.True(t, tracker.Remove("n", "new"))
	require.False(t, tracker.Remove("n", "new"))
	require.False(t, tracker.Remove("n", ""))

	tracker.Set("n", zoneA, good)
	require.True(t, tracker.Remove("n", "any"), "an empty identity matches any")
	tracker.Set("n", zoneA, Member{Identity: "new"})
	require.True(t, tracker.Remove("n", ""), "also if the caller gives none")
	require.Zero(t, tracker.Zones()[0].Counts)
}

func TestAllDown(t *testing.T) {
	tracker := newTracker(t)
	setAll(tracker, zoneA, 2, 0)
	setAll(tracker, zoneB, 2, 0)
	tracker.Set("spare", zoneC, Member{Ready: true, Excluded: true})
	require.Len(t, tracker.Evaluate(epoch), 3)
	setAll(tracker, zoneA, 2, 2)
	require.Len(t, tracker.Evaluate(epoch), 1)
	setAll(tracker, zoneB, 2, 2)
	require.Equal(t, []Change{
		{Status: Status{zoneA, FullDisruption, 0, Counts{2, 2}}, From: FullDisruption, AllDown: true},
		{Status: Status{zoneB, FullDisruption, 0, Counts{2, 2}}, From: Normal, AllDown: true},
		{Status: Status{zoneC, Normal, 0, Counts{}}, From: Normal, AllDown: true},
	}, tracker.Evaluate(epoch), "every zone, even one without a vote")
	require.True(t, tracker.AllDown())
	tracker.Set("a-2", zoneA, bad)
	require.Nil(t, tracker.Evaluate(epoch), "still down")

	tracker.Set("b-1", zoneB, good)
	require.Equal(t, []Change{
		{Status: Status{zoneA, FullDisruption, 0.1, Counts{3, 3}}, From: FullDisruption},
		{Status: Status{zoneB, Normal, 0.1, Counts{2, 1}}, From: FullDisruption},
		{Status: Status{zoneC, Normal, 0.1, Counts{}}, From: Normal},
	}, tracker.Evaluate(epoch))
	require.False(t, tracker.AllDown())
}
