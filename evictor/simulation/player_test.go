package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/internal/scenario"
)

func ptr[T any](v T) *T { return &v }

func at(d time.Duration) *scenario.Duration { return ptr(scenario.Duration(d)) }

func play(t *testing.T, s *scenario.Scenario) ([]string, *Report) {
	t.Helper()
	var lines []string
	r, err := Play(context.Background(), s, New(&Clock{}), Options{Line: func(l scenario.Line) error {
		lines = append(lines, string(l.AppendJSON(nil)))
		return nil
	}})
	require.NoError(t, err)
	return lines, r
}

func TestSmoke(t *testing.T) {
	s := &scenario.Scenario{
		Cluster: scenario.Cluster{Zones: []scenario.Zone{
			{Name: "a", Nodes: 3, PodsPerNode: 2, TolerationSeconds: ptr(scenario.TolerationSeconds(300)), DaemonSetPodsPerNode: 1},
			{Name: "b", Nodes: 3, PodsPerNode: 2, TolerationSeconds: ptr(scenario.TolerationSeconds(300))},
		}},
		Events: []scenario.Event{
			{At: at(2 * time.Minute), Fail: &scenario.Selector{Zone: ptr("a")}},
			{At: at(8*time.Minute + 12*time.Second), Recover: &scenario.Selector{Node: "a-002"}},
		},
		Until: at(15 * time.Minute),
	}
	lines, r := play(t, s)
	for _, l := range lines {
		t.Log(l)
	}
	t.Logf("%+v", r)
}

// 1.0001s and 1.0005s are both printed as 1.000.
func TestLinesThatPrintTheSameTimeAreSorted(t *testing.T) {
	c := New(&Clock{})
	p := &player{cluster: c, seen: map[string]struct{}{}}
	var got []scenario.Line
	p.options.Line = func(l scenario.Line) error { got = append(got, l); return nil }
	p.line(scenario.Line{T: 1000100 * time.Microsecond, Kind: scenario.KindZone})
	p.line(scenario.Line{T: 1000500 * time.Microsecond, Kind: scenario.KindCondition})
	p.flush()
	require.LessOrEqual(t, scenario.Compare(got[0], got[1]), 0, "%s", []string{string(got[0].AppendJSON(nil)), string(got[1].AppendJSON(nil))})
}

// A fault that only the run finds names its event too: here the pod is still terminating when it is added again.
func TestEventThatFailsInTheRunIsNumbered(t *testing.T) {
	_, err := Play(context.Background(), &scenario.Scenario{
		Cluster: scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 3}}},
		Events: []scenario.Event{
			{At: at(3 * time.Minute), AddPod: &scenario.AddPod{Name: "x", Node: "a-001"}},
			{At: at(time.Minute), AddPod: &scenario.AddPod{Name: "x", Node: "a-000"}},
			{At: at(time.Minute), Fail: &scenario.Selector{Node: "a-000"}},
			{At: at(2 * time.Minute), DeletePod: &scenario.DeletePod{Name: "x"}},
		},
		Until: at(5 * time.Minute),
	}, New(&Clock{}), Options{})
	require.EqualError(t, err, "event 1 (at 3m0s): pod default/x already exists")
}
