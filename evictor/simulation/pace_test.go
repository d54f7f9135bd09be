package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
)

// crowded is a node with a hundred pods, of two in a zone, that falls silent at 2 minutes.
func crowded(qps float64, events ...simulation.Event) simulation.Scenario {
	return simulation.Scenario{
		Zones: []simulation.Zone{{Name: "a", Nodes: 1, PodsPerNode: 100}, {Name: "b", Nodes: 3}}, KubeAPIQPS: qps, Until: 12 * time.Minute,
		Events: append([]simulation.Event{{At: 2 * time.Minute, Fail: &simulation.Nodes{Zone: "a"}}}, events...), ReplaceAfter: -1,
	}
}

// marks returns how many there were, and when the last one was made.
func marks(lines []line) (n int, last float64) {
	for _, l := range lines {
		if l.Kind == "podNotReady" {
			n, last = n+1, l.T
		}
	}
	return n, last
}

// Writes are sent at the pace of the client, those of nodes first, and evictions by another client. Without a pace the report says
// how long they would wait at the usual one.
func TestWritesArePaced(t *testing.T) {
	r, lines := play(t, crowded(0))
	n, last := marks(lines)
	require.Equal(t, 100, n)
	require.InDelta(t, 165, last, 1e-9)
	require.Equal(t, 3600*time.Millisecond, r.WritesWouldWait, "two writes of the node and a hundred marks, of which thirty are sent at once")
	first, evictions := of(lines, "taint"), of(lines, "evict")

	paced, lines := play(t, crowded(20))
	n, last = marks(lines)
	require.Equal(t, 100, n)
	require.InDelta(t, 165+r.WritesWouldWait.Seconds(), last, 1e-9)
	require.Equal(t, first, of(lines, "taint"), "those of nodes do not wait behind those of pods")
	require.Len(t, of(lines, "evict"), len(evictions))
	require.Equal(t, paced.FirstEviction+3500*time.Millisecond, paced.LastEviction, "a client of its own has thirty at once, too")

	s := crowded(10)
	s.KubeAPIBurst = 1
	_, lines = play(t, s)
	_, last = marks(lines)
	require.InDelta(t, 165+10.1, last, 1e-9)
}

// An evictor without a period writes a node's conditions once, however long they wait to be sent.
func TestWithoutAPeriodConditionsAreWrittenOnce(t *testing.T) {
	s := crowded(1, simulation.Event{At: 2 * time.Minute, Fail: &simulation.Nodes{Names: []string{"b-000", "b-001"}}})
	s.Config, s.KubeAPIBurst = evictor.DefaultConfig(), 1
	s.Config.Nodes.NodeMonitorPeriod = 0
	_, lines := play(t, s)
	written := make(map[string]int)
	for _, l := range lines {
		if l.Kind == "condition" && l.Type == string(v1.NodeReady) {
			written[l.Node]++
		}
	}
	require.Equal(t, map[string]int{"a-000": 1, "b-000": 1, "b-001": 1}, written)
}

// What waits to be sent is not sent if nobody wants it any more.
func TestAMarkThatWaitsIsForgottenWhenItsNodeIsBack(t *testing.T) {
	_, lines := play(t, crowded(20, simulation.Event{At: 166 * time.Second, Recover: &simulation.Nodes{Zone: "a"}}))
	n, last := marks(lines)
	require.Less(t, n, 60)
	require.LessOrEqual(t, last, 166.)
	for _, l := range lines {
		if l.Kind == "taint" && l.Op == "remove" && l.Effect == string(v1.TaintEffectNoExecute) {
			require.InDelta(t, 170, l.T, 0.1, "at the next pass: it does not wait behind marks")
		}
	}
}
