package zone

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// fused is a tracker whose policy panics when it is asked for the given time from now on, and never if that is 0. The
// next evaluation drops some zones, adds some, changes some, and finds all down.
func fused(t *testing.T, policy Policy, at int) *Tracker[int] {
	t.Helper()
	left := 0
	tracker, err := New[int](PolicyFunc(func(s Situation) Ruling {
		if left--; left == 0 {
			panic("no idea")
		}
		return policy.Decide(s)
	}))
	require.NoError(t, err)
	for i, z := range []Key{zoneB, zoneA, {}} {
		tracker.Set(i, z, good)
	}
	tracker.Evaluate(epoch)
	tracker.Set(3, zoneC, bad)
	tracker.Set(0, zoneB, bad)
	tracker.Set(1, Key{"r", "d"}, bad)
	tracker.Remove(2, "")
	left = at
	return tracker
}

// Whichever call panics, no lock stays held, nothing is half changed, and the next evaluation returns what this one
// would have returned.
func TestPanicsOfTheUsersCode(t *testing.T) {
	for _, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			calm := fused(t, p.policy(), 0)
			before := calm.Zones()
			want := calm.Evaluate(epoch)
			require.True(t, want[0].AllDown)
			require.Len(t, want, 5)
			for at := 1; at <= len(want); at++ {
				tracker := fused(t, p.policy(), at)
				require.Panics(t, func() { tracker.Evaluate(epoch) })
				require.Equal(t, before, tracker.Zones())
				checkInvariants(t, tracker)
				tracker.Set(9, zoneA, bad)
				require.True(t, tracker.Remove(9, ""))
				require.Equal(t, want, tracker.Evaluate(epoch))
				require.Nil(t, tracker.Evaluate(epoch))
				checkInvariants(t, tracker)
			}
		})
	}
}
