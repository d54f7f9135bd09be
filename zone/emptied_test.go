package zone

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A domain whose last member leaves while the policy is asked, and counted for nothing, is gone with the next evaluation:
// its counts are still those that were judged.
func TestADomainThatIsEmptiedDuringAnEvaluation(t *testing.T) {
	var tracker *Tracker[string]
	tracker, err := New[string](PolicyFunc(func(Situation) Ruling {
		tracker.Remove("n", "")
		return Ruling{State: Normal}
	}))
	require.NoError(t, err)
	tracker.Set("n", zoneA, Member{Excluded: true})
	require.Len(t, tracker.Evaluate(epoch), 1)
	changes := tracker.Evaluate(epoch)
	require.Len(t, changes, 1)
	require.True(t, changes[0].Gone)
}
