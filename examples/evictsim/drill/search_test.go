package drill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An eviction that comes later is a little less likely to be needless, and nothing changes suddenly.
func TestHowLikelyAnEvictionIsNeedless(t *testing.T) {
	require.InDelta(t, 1, needless(-time.Second), 0)
	require.InDelta(t, 1, needless(shortest), 0)
	require.InDelta(t, 0, needless(longest), 1e-9)
	require.InDelta(t, 0, needless(2*longest), 0)
	require.InDelta(t, needless(2*time.Minute)-needless(4*time.Minute), needless(4*time.Minute)-needless(8*time.Minute), 1e-9, "of each doubling")
	for after := shortest; after < longest; after += time.Second {
		require.InDelta(t, needless(after), needless(after+time.Second), 0.005)
	}
}
