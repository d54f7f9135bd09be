package zone

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fuse makes the user's code panic at one of its calls.
type fuse struct{ left int }

func (f *fuse) burn() {
	if f.left--; f.left == 0 {
		panic("no idea")
	}
}

func (f *fuse) Now() time.Time {
	f.burn()
	return epoch
}

func (f *fuse) Since(t time.Time) time.Duration { return f.Now().Sub(t) }

// fused is a tracker whose policy, clock and order can panic. Its next evaluation drops a zone, adds some, changes
// some, and finds all down.
func fused(t *testing.T, f *fuse, policy Policy) *Tracker[int, Key] {
	t.Helper()
	config := Config[Key]{Policy: policy, Clock: f, Compare: func(a, b Key) int {
		f.burn()
		return a.Compare(b)
	}}
	if _, ok := policy.(DisruptionPolicy); !ok {
		config.Policy = PolicyFunc(func(s Situation) Ruling {
			f.burn()
			return policy.Decide(s)
		})
	}
	tracker, err := New[int](config)
	require.NoError(t, err)
	for i, z := range []Key{zoneB, zoneA, {}} {
		tracker.Set(i, z, good)
	}
	tracker.Evaluate()
	tracker.Set(3, zoneC, bad)
	tracker.Set(0, zoneB, bad)
	tracker.Set(1, Key{"r", "d"}, bad)
	tracker.Remove(2)
	return tracker
}

// Whichever call panics, no lock stays held, nothing is half changed, and the next evaluation returns what this one
// would have returned.
func TestPanicsOfTheUsersCode(t *testing.T) {
	for _, p := range policies {
		t.Run(p.name, func(t *testing.T) {
			calm := fused(t, &fuse{}, p.policy)
			before := calm.Zones()
			want := calm.Evaluate()
			require.Equal(t, Entered, want[0].Cluster)
			require.Len(t, want, 5)
			panics := 0
			for at := 1; ; at++ {
				f := &fuse{}
				tracker := fused(t, f, p.policy)
				f.left = at
				panicked := false
				func() {
					defer func() { panicked = recover() != nil }()
					require.Equal(t, want, tracker.Evaluate())
				}()
				if !panicked {
					break
				}
				panics++
				f.left = 0
				require.Equal(t, before, tracker.Zones())
				checkInvariants(t, &tracker.domains)
				tracker.Set(9, zoneA, bad)
				require.True(t, tracker.Remove(9))
				require.Equal(t, want, tracker.Evaluate())
				require.Nil(t, tracker.Evaluate())
				checkInvariants(t, &tracker.domains)
			}
			require.Greater(t, panics, 5)
		})
	}
}
