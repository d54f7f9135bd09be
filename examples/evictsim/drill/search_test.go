package drill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pod that is evicted later is a little less likely to be evicted while it runs, and nothing changes suddenly.
func TestHowLikelyAFalseAlarmLastsOn(t *testing.T) {
	require.InDelta(t, 1, stillSilent(-time.Second), 0)
	require.InDelta(t, 1, stillSilent(shortest), 0)
	require.InDelta(t, 0, stillSilent(longest), 1e-9)
	require.InDelta(t, 0, stillSilent(2*longest), 0)
	require.InDelta(t, stillSilent(2*time.Minute)-stillSilent(4*time.Minute), stillSilent(4*time.Minute)-stillSilent(8*time.Minute), 1e-9, "of each doubling")
	for after := shortest; after < longest; after += time.Second {
		require.InDelta(t, stillSilent(after), stillSilent(after+time.Second), 0.005)
	}
}
