package differential

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
)

// actions is a scenario with the actions that random scenarios lack. Each part of it stands apart
// in time and in nodes.
const actions = `
cluster:
  zones:
  - {name: a, nodes: 12, podsPerNode: 2, tolerationSeconds: 30, labels: {rack: "1"}, capacity: {cpu: 8, pods: 20}, pod: {requests: {cpu: 1}, owner: StatefulSet/web}}
  - {name: b, nodes: 12, podsPerNode: 2, tolerationSeconds: 30, capacity: {cpu: 8, pods: 20}, pod: {requests: {cpu: 1}}}
events:
- {at: 61s, partition: {zone: b, count: 1, clients: 0.5}}
- {at: 62s, fail: {selector: {rack: 1}, percent: 10, seed: 3}}
- {at: 4m, outOfService: {node: a-002}}
- {at: 5m, drain: {nodes: [b-005]}}
- {at: 6m, replaceNode: {node: b-006, after: 90s}}
- {at: 10m, recover: {zone: a}}
- {at: 10m, recover: {zone: b}}
- {at: 12m, api: {state: slow, latency: 1s, for: kubelets}}
- {at: 13m, api: {state: up}}
- {at: 14m, forceDelete: {name: b-007-p0}}
- {at: 15m, repeat: {every: 5m, times: 2, events: [{at: 0s, fail: {node: b-008}}, {at: 3m, recover: {node: b-008}}]}}
reschedule: {after: 10s}
until: 30m
`

// Upstream's controllers live through every action as ours do: the world does the same on both
// sides, and the same nodes are tainted and pods evicted, whatever the instants.
func TestActions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.yaml")
	require.NoError(t, os.WriteFile(path, []byte(actions), 0o600))
	out, err := exec.CommandContext(t.Context(), oracles[V137], path).Output()
	require.NoError(t, err)
	var theirs, ours []scenario.Line
	for text := range bytes.Lines(out) {
		l, err := scenario.ParseLine(text)
		require.NoError(t, err)
		theirs = append(theirs, l)
	}
	s, err := scenariofile.Load(path)
	require.NoError(t, err)
	_, err = simulator.Play(t.Context(), s, simulator.New(&simulator.Clock{}), simulator.Options{Line: func(l scenario.Line) error {
		ours = append(ours, l)
		return nil
	}})
	require.NoError(t, err)

	require.Len(t, lines(theirs, scenario.KindEvent), 15, "with both rounds of repeat, and the new node's report")
	require.Equal(t, lines(theirs, scenario.KindEvent), lines(ours, scenario.KindEvent))
	for _, kind := range []scenario.Kind{scenario.KindDrain, scenario.KindEvict, scenario.KindTaint, scenario.KindSchedule} {
		require.NotEmpty(t, subjects(ours, kind), kind)
		require.Equal(t, subjects(theirs, kind), subjects(ours, kind), kind)
	}
}

// lines are the texts of one kind.
func lines(all []scenario.Line, kind scenario.Kind) (texts []string) {
	for i := range all {
		if all[i].Kind == kind {
			texts = append(texts, string(all[i].AppendJSON(nil)))
		}
	}
	return texts
}

// subjects counts what lines of one kind are about. Pods that come back may land anywhere.
func subjects(all []scenario.Line, kind scenario.Kind) map[string]int {
	counts := make(map[string]int)
	for i := range all {
		l := &all[i]
		if l.Kind != kind {
			continue
		}
		what := l.Pod
		if kind == scenario.KindTaint {
			what = l.Node + " " + l.Key + ":" + l.Effect + " " + l.Op
		}
		counts[what]++
	}
	return counts
}
