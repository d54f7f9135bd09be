package differential

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/conformance/faults"
)

// Seen is what was seen of a deliberate fault.
type Seen struct {
	Name            string
	Shown, Reported int // scenarios in which our timeline differs from that without it, and of these, in which that is reported
	Evicts          int // those in which an eviction does
	EvictsReported  int
	Swallowed       []uint64       // the seeds in which it is not
	Fired           map[string]int // by which rules more was explained than without it
}

// seldom are the faults that fewer than half of the scenarios report in which they show, and why. Of others it is an error.
var seldom = map[string]string{
	"the overdue do not wait for their node":       "shows after an outage of the API alone, of which the scenario does not say whether ours ceased to see in it",
	"after every zone was down no node is watched": "shows after such an outage alone, too",
	"who has failed before a start is not watched": "shows as evictions that are reported as cancelled, or not, and that upstream does not report",
	"a failed taint is given up":                   "the next pass queues the node again, and there is no line about the token of a try that failed",
}

// TestDeliberateFaults: of the scenarios in which a fault shows, so many are reported, and at least half of those of each fault.
// With EVICTKIT_FULL only: the program that plays them is built anew.
func TestDeliberateFaults(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("only with EVICTKIT_FULL")
	}
	dir := t.TempDir()
	overlay, err := faults.Overlay("../../..", dir)
	require.NoError(t, err)
	program := filepath.Join(dir, "faults.test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", "faults", "-overlay", overlay, "-o", program, ".").CombinedOutput() //nolint:gosec // the go command
	require.NoError(t, err, string(out))
	ofAll, all := 0, 0
	for against, least := range map[Against]float64{V137: 0.95, V118: 0.95, V118Direct: 0.94} {
		t.Run(directory(against), func(t *testing.T) {
			args := []string{"-test.run", "TestPlayFaults$", "-seeds", "100", "-against", string(against), "-oracles", filepath.Dir(oracles[V137])}
			out, err := exec.CommandContext(t.Context(), program, args...).Output() //nolint:gosec // what was just built
			require.NoError(t, err, string(out))
			shown, reported := 0, 0
			for line := range bytes.Lines(out) {
				var s Seen
				if json.Unmarshal(line, &s) != nil {
					continue // PASS
				}
				shown, reported = shown+s.Shown, reported+s.Reported
				if 2*s.Reported < s.Shown {
					assert.Contains(t, seldom, s.Name, "%d of %d scenarios report it", s.Reported, s.Shown)
				}
				if s.Reported < s.Shown {
					t.Logf("%s: %d of %d scenarios report it; not those of seeds %v, by %v", s.Name, s.Reported, s.Shown, s.Swallowed, s.Fired)
				}
			}
			t.Logf("%d of %d", reported, shown)
			require.Greater(t, float64(reported), least*float64(shown))
			ofAll, all = ofAll+reported, all+shown
		})
	}
	require.Greater(t, float64(ofAll), 0.95*float64(all))
}
