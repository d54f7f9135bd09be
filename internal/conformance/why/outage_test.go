package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

const outage = `cluster:
  zones: [{name: a, nodes: 8, podsPerNode: 2, tolerationSeconds: 30}, {name: b, nodes: 8, podsPerNode: 2, tolerationSeconds: 30}]
events:
- {at: %v, api: {state: down}}
- {at: %v, fail: {%s}}
- {at: %v, api: {state: up}}
until: %v
`

// With leader election, an outage of the API makes upstream condemn nobody that lives, however long it lasts and whenever it
// begins. Who dies in it is found the later the longer it lasts: by no more than that, a retry and a pass, so that no
// length is a cliff, and no sooner than a whole grace period after its end if a new leader had to take over.
func TestUpstreamFindsOnlyTheDeadAfterAnOutage(t *testing.T) {
	const (
		grace = 50 * time.Second
		slack = 2*time.Second + 5*time.Second
	)
	for _, row := range []struct {
		who  string
		dead int
	}{{"node: a-000", 1}, {"zone: a", 8}} {
		for _, from := range []time.Duration{300 * time.Second, 303500 * time.Millisecond, 306 * time.Second} {
			var before, found time.Duration
			for _, lasts := range []time.Duration{4 * time.Second, 9 * time.Second, 14 * time.Second, 20 * time.Second, 47 * time.Second, 51 * time.Second, 4 * time.Minute} {
				back := from + lasts
				about := fmt.Sprintf("%s, outage of %v from %v", row.who, lasts, from)
				unknown := unknownIn(t, fmt.Sprintf(outage, from, from+time.Second, row.who, back, back+2*time.Minute))
				require.Len(t, unknown, row.dead, about)
				is := unknown["a-000"]
				require.GreaterOrEqual(t, is, found, about)
				if found > 0 {
					require.LessOrEqual(t, is-found, lasts-before+15*time.Second+slack, about)
				}
				if lasts > 12*time.Second {
					require.GreaterOrEqual(t, is, back+grace, about)
					require.LessOrEqual(t, is, back+grace+15*time.Second+slack, about)
				}
				before, found = lasts, is
			}
		}
	}
}

// unknownIn plays a scenario with upstream's controllers, and returns when each node first turned Unknown.
func unknownIn(t *testing.T, scenario string) map[string]time.Duration {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	require.NoError(t, os.WriteFile(path, []byte(scenario), 0o600))
	out, err := exec.CommandContext(t.Context(), oracle, path).Output()
	require.NoError(t, err)
	unknown := make(map[string]time.Duration)
	for text := range bytes.Lines(out) {
		l, err := timeline.Parse(text)
		require.NoError(t, err)
		if _, is := unknown[l.Node]; l.Kind == timeline.KindCondition && l.Status == "Unknown" && !is {
			unknown[l.Node] = l.T
		}
	}
	return unknown
}
