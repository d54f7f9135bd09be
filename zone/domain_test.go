package zone

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func zonesOf[K, D comparable](tracker *Tracker[K, D]) (zones []D) {
	for _, s := range tracker.Zones() {
		zones = append(zones, s.Zone)
	}
	return zones
}

func TestOrderOfDomains(t *testing.T) {
	for name, row := range map[string]struct {
		compare func(a, b string) int
		want    []string
	}{
		"as they were first set": {nil, []string{"m", "z", "a"}},
		"by a comparison":        {strings.Compare, []string{"a", "m", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			tracker, err := New[int](Config[string]{Policy: DefaultPolicy(), Compare: row.compare})
			require.NoError(t, err)
			changed := func(changes []Change[string]) (zones []string) {
				for _, c := range changes {
					zones = append(zones, c.Zone)
				}
				return zones
			}
			for i, pool := range []string{"m", "z", "a"} {
				tracker.Set(i, pool, good)
				if i == 0 {
					tracker.Evaluate()
				}
			}
			require.Equal(t, row.want, zonesOf(tracker))
			for _, i := range []int{2, 1, 0} {
				pool, _, _ := tracker.Get(i)
				tracker.Set(i, pool, bad)
			}
			require.Equal(t, row.want, changed(tracker.Evaluate()))
		})
	}
}

// A key that cannot be hashed, or does not equal itself, panics. Nothing has changed then, and no lock is held.
func TestKeysThatCannotBeHashed(t *testing.T) {
	tracker, err := New[any](Config[any]{Policy: DefaultPolicy()})
	require.NoError(t, err)
	tracker.Set("n", "a", good)
	tracker.Evaluate()
	before := tracker.Zones()
	unhashable := []string{"x"}
	for name, do := range map[string]func(){
		"a member":                   func() { tracker.Set(unhashable, "a", good) },
		"a new member's domain":      func() { tracker.Set("m", unhashable, good) },
		"a known member's domain":    func() { tracker.Set("n", unhashable, bad) },
		"removed":                    func() { tracker.Remove(unhashable) },
		"asked":                      func() { tracker.Zone(unhashable) },
		"a member that is no number": func() { tracker.Set(math.NaN(), "a", good) },
		"a domain that is no number": func() { tracker.Set("n", math.NaN(), good) },
	} {
		require.Panics(t, do, name)
		require.Nil(t, tracker.EvaluateAt(epoch), name)
		require.Equal(t, before, tracker.Zones(), name)
	}
}
