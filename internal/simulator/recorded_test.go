package simulator

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

// Timelines of edition 1 stay the same as before edition 2, byte for byte. testdata has the checksums of timelines of
// random scenarios recorded then.
func TestTimelinesOfTheFirstEditionStay(t *testing.T) {
	recorded, err := os.ReadFile("testdata/edition1.sha256")
	require.NoError(t, err)
	var now strings.Builder
	for seed := range int64(200) {
		s := randomScenario(seed)
		require.Equal(t, scenario.Edition1, s.Edition)
		if s.Check(nil) != nil {
			continue
		}
		lines, _ := playOn(t, New(&Clock{}), s)
		fmt.Fprintf(&now, "%d %d %x\n", seed, len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n"))))
	}
	require.Equal(t, string(recorded), now.String())
}
