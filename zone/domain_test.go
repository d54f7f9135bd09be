package zone

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func zonesOf[K comparable](tracker *Tracker[K]) (zones []Key) {
	for _, s := range tracker.Zones() {
		zones = append(zones, s.Zone)
	}
	return zones
}

// Zones come by region, then zone, whenever they were first set.
func TestOrderOfDomains(t *testing.T) {
	tracker, err := New[int](DefaultPolicy())
	require.NoError(t, err)
	changed := func(changes []Change) (zones []Key) {
		for _, c := range changes {
			zones = append(zones, c.Zone)
		}
		return zones
	}
	pools := []Key{{"r", "b"}, {"s", "a"}, {"r", "a"}, {"", "z"}}
	for i, pool := range pools {
		tracker.Set(i, pool, good)
		if i == 0 {
			tracker.Evaluate(epoch)
		}
	}
	want := []Key{{"", "z"}, {"r", "a"}, {"r", "b"}, {"s", "a"}}
	require.Equal(t, want, zonesOf(tracker))
	for i, pool := range pools {
		tracker.Set(i, pool, bad)
	}
	require.Equal(t, want, changed(tracker.Evaluate(epoch)))
}

// A key that cannot be hashed, or does not equal itself, panics. Nothing has changed then, and no lock is held.
func TestKeysThatCannotBeHashed(t *testing.T) {
	tracker, err := New[any](DefaultPolicy())
	require.NoError(t, err)
	tracker.Set("n", zoneA, good)
	tracker.Evaluate(epoch)
	before := tracker.Zones()
	unhashable := []string{"x"}
	for name, do := range map[string]func(){
		"a member":                   func() { tracker.Set(unhashable, zoneA, good) },
		"a member of a new zone":     func() { tracker.Set(unhashable, zoneB, good) },
		"removed":                    func() { tracker.Remove(unhashable, "") },
		"a member that is no number": func() { tracker.Set(math.NaN(), zoneA, good) },
	} {
		require.Panics(t, do, name)
		require.Nil(t, tracker.Evaluate(epoch), name)
		require.Equal(t, before, tracker.Zones(), name)
	}
}
