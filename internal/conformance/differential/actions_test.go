package differential

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/examples/scenariofile"
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

// Upstream's two controllers live through every action as ours do: the world does the same on both
// sides, and the same nodes are tainted and pods evicted, whatever the instants.
func TestActions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.yaml")
	require.NoError(t, os.WriteFile(path, []byte(actions), 0o600))
	out, err := exec.CommandContext(t.Context(), oracles[V137], "-controllers-only", path).Output() // which of two pods is created first is random
	require.NoError(t, err)
	var theirs, ours []timeline.Line
	for text := range bytes.Lines(out) {
		l, err := timeline.Parse(text)
		require.NoError(t, err)
		theirs = append(theirs, l)
	}
	playOurs(t, path, func(l timeline.Line) { ours = append(ours, l) })

	require.Len(t, lines(theirs, timeline.KindEvent), 15, "with both rounds of repeat, and the new node's report")
	require.Equal(t, lines(theirs, timeline.KindEvent), lines(ours, timeline.KindEvent))
	for _, kind := range []timeline.Kind{timeline.KindDrain, timeline.KindEvict, timeline.KindTaint, timeline.KindSchedule} {
		require.NotEmpty(t, subjects(ours, kind), kind)
		require.Equal(t, subjects(theirs, kind), subjects(ours, kind), kind)
	}
}

// playOurs plays the scenario file with our evictor.
func playOurs(t *testing.T, path string, line func(timeline.Line)) {
	file, err := scenariofile.Load(path)
	require.NoError(t, err)
	s, _ := file.Simulation(t.Context(), nil)
	s.Timeline = func(l timeline.Line) error {
		line(l)
		return nil
	}
	_, err = simulation.Play(t.Context(), s)
	require.NoError(t, err)
}

// lines are the texts of one kind.
func lines(all []timeline.Line, kind timeline.Kind) (texts []string) {
	for i := range all {
		if all[i].Kind == kind {
			texts = append(texts, string(all[i].AppendJSON(nil)))
		}
	}
	return texts
}

// subjects counts what lines of one kind are about. Pods that come back may land anywhere.
func subjects(all []timeline.Line, kind timeline.Kind) map[string]int {
	counts := make(map[string]int)
	for i := range all {
		l := &all[i]
		if l.Kind != kind {
			continue
		}
		what := l.Pod
		if kind == timeline.KindTaint {
			what = l.Node + " " + l.Key + ":" + l.Effect + " " + l.Op
		}
		counts[what]++
	}
	return counts
}

// unseen is a scenario in which the watch loses the renewals of one node's lease, and another node fails meanwhile.
const unseen = `
cluster:
  zones:
  - {name: a, nodes: 6, podsPerNode: 1, tolerationSeconds: 30}
  - {name: b, nodes: 6, podsPerNode: 1, tolerationSeconds: 30}
heartbeat: {statusInterval: 10m}
events:
- {at: 61s, loseLeases: {node: a-001}}
- {at: 2m, fail: {node: b-002}}
- {at: 6m, showLeases: {node: a-001}}
- {at: 7m, fail: {node: a-001}}
until: 12m
`

// A node whose renewals the watch loses is read from the API server by both, and stays Ready. What else fails is tainted by
// both: by upstream, which looks at no node until its cache has caught up, later.
func TestALeaseThatTheWatchLoses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "unseen.yaml")
	require.NoError(t, os.WriteFile(path, []byte(unseen), 0o600))
	out, err := exec.CommandContext(t.Context(), oracles[V137], path).Output()
	require.NoError(t, err)
	tainted := map[string][]float64{} // ours first
	note := func(l timeline.Line) {
		if l.Kind == timeline.KindTaint && ownNoExecute(l) && l.Op == "add" {
			tainted[l.Node] = append(tainted[l.Node], l.T.Seconds())
		}
	}
	playOurs(t, path, note)
	for text := range bytes.Lines(out) {
		l, err := timeline.Parse(text)
		require.NoError(t, err)
		note(l)
	}
	require.Len(t, tainted, 2)
	for node, failed := range map[string]float64{"b-002": 120, "a-001": 420} {
		require.Len(t, tainted[node], 2, node)
		t.Logf("%s, which failed at %gs, is tainted by us and by upstream at %v", node, failed, tainted[node])
		for _, at := range tainted[node] {
			require.Greater(t, at, failed, node)
			require.Less(t, at, failed+90, node)
		}
		require.LessOrEqual(t, tainted[node][0], tainted[node][1]+0.1, node)
	}
}
