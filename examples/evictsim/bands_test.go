package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/scenariofile"
)

func TestBands(t *testing.T) {
	s, err := scenariofile.Complete("test", []byte(`
cluster: {zones: [{name: a, nodes: 4, podsPerNode: 1}, {name: b, nodes: 4}]}
events:
- {at: 10s, fail: {zone: a, count: 2}}
- {at: 20s, fail: {nodes: [b-000, b-001]}}
- {at: 30s, recover: {zone: b}}
- {at: 40s, recover: {zone: a}}
- {at: 50s, cordon: {node: b-002}}
- {at: 55s, uncordon: {node: b-003}}
- {at: 60s, uncordon: {nodes: [b-001, b-002]}}
- {at: 70s, api: {state: down, for: kubelets}}
- {at: 75s, api: {state: slow, latency: 1s, for: evictor}}
- {at: 80s, api: {state: up}}
- {at: 85s, partition: {zone: a}}
- {at: 90s, restart: {}}
- {at: 95s, deletePod: {name: a-000-p0}}
- {at: 200s, fail: {zone: a}}
until: 100s
`), ".")
	require.NoError(t, err)
	events, more := eventsOf(simulated(s), touchedIn(t, s))
	require.Zero(t, more)
	spans := map[string][][2]float64{}
	where := map[string]string{}
	for _, e := range events {
		spans[e.Text] = e.Spans
		where[e.Text] = strings.Join(e.Zones, " ")
	}
	require.Equal(t, "a", where["fail 2 nodes of zone a at 10s for 30s"])
	require.Equal(t, "b", where["fail 2 nodes at 20s for 10s"])
	require.Empty(t, where["restart at 1m30s"], "everywhere")
	require.Equal(t, map[string][][2]float64{
		"fail 2 nodes of zone a at 10s for 30s":      {{10, 40}}, // whose recovery is only an end
		"fail 2 nodes at 20s for 10s":                {{20, 30}},
		"cordon node b-002 at 50s for 10s":           {{50, 60}},
		"uncordon node b-003 at 55s":                 {{55, 55}},
		"uncordon 2 nodes at 1m":                     {{60, 60}},
		"api down for kubelets at 1m10s for 10s":     {{70, 80}},
		"api slow for evictor by 1s at 1m15s for 5s": {{75, 80}},
		"partition zone a at 1m25s to the end":       {{85, 100}},
		"restart at 1m30s":                           {{90, 90}},
		"deletePod a-000-p0 at 1m35s":                {{95, 95}},
	}, spans)
}

// Spans come from the very nodes: that another one reboots ends no outage, and a machine that is replaced is up again.
func TestSpansFollowNodes(t *testing.T) {
	s, err := scenariofile.Complete("test", []byte(`
cluster: {zones: [{name: a, nodes: 4}, {name: b, nodes: 4}]}
events:
- {at: 4m, fail: {node: b-003}}
- {at: 5m, fail: {zone: a}}
- {at: 5m10s, recover: {node: b-003}}
- {at: 10m, fail: {nodes: [b-000, b-001]}}
- {at: 20m, recover: {node: b-000}}
- {at: 30m, replaceNode: {node: b-001}}
- {at: 40m, recover: {zone: b}}
until: 60m
`), ".")
	require.NoError(t, err)
	events, _ := eventsOf(simulated(s), touchedIn(t, s))
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	require.Equal(t, []string{
		"fail node b-003 at 4m for 1m10s", "fail zone a at 5m to the end", "fail 2 nodes at 10m for 20m", "replaceNode node b-001 at 30m", "recover zone b at 40m",
	}, texts)
}

// An outage of the API that ends for one side after the other is over then.
func TestAnOutageThatEndsByHalves(t *testing.T) {
	s, err := scenariofile.Complete("test", []byte(`
cluster: {zones: [{name: a, nodes: 4}]}
events:
- {at: 5m, api: {state: down}}
- {at: 8m, api: {state: up, for: evictor}}
- {at: 10m, api: {state: up, for: kubelets}}
until: 30m
`), ".")
	require.NoError(t, err)
	events, _ := eventsOf(simulated(s), touchedIn(t, s))
	require.Len(t, events, 1)
	require.Equal(t, "api down at 5m for 5m", events[0].Text)
}

// TestRepeatedEventsAreFolded: whether by repeat or written out.
func TestRepeatedEventsAreFolded(t *testing.T) {
	s, err := scenariofile.Complete("test", []byte(`
cluster: {zones: [{name: a, nodes: 4}, {name: b, nodes: 4}]}
events:
- at: 10m
  repeat: {every: 1h, times: 24, events: [{at: 0s, fail: {zone: a, count: 2}}, {at: 5m, recover: {zone: a, count: 2}}]}
- {at: 1h, fail: {zone: b}}
- {at: 2h, recover: {zone: b}}
- {at: 5h, fail: {zone: b}}
- {at: 5h30m, recover: {zone: b}}
- {at: 7h, restart: {}}
- {at: 9h, restart: {}}
- {at: 12h, restart: {}}
until: 24h
`), ".")
	require.NoError(t, err)
	events, more := eventsOf(simulated(s), touchedIn(t, s))
	require.Zero(t, more)
	var texts []string
	for _, e := range events {
		texts = append(texts, e.Text)
	}
	require.Equal(t, []string{
		"fail 2 nodes of zone a ×24, every 1h from 10m, for 5m each",
		"fail zone b ×2, first at 1h, last at 5h, for 30m to 1h",
		"restart ×3, first at 7h, last at 12h",
	}, texts)
	require.Len(t, events[0].Spans, 24)
}

// TestEventsHaveABound: those that find no room are counted.
func TestEventsHaveABound(t *testing.T) {
	text := "cluster: {zones: [{name: a, nodes: 100}]}\nuntil: 10h\nevents:\n"
	for i := range pageEvents + 3 {
		text += fmt.Sprintf("- {at: %ds, cordon: {node: a-%03d}}\n", i, i)
	}
	s, err := scenariofile.Complete("test", []byte(text), ".")
	require.NoError(t, err)
	events, more := eventsOf(simulated(s), nil)
	require.Len(t, events, pageEvents)
	require.Equal(t, 3, more)

	text = "cluster: {zones: [{name: a, nodes: 100}]}\nuntil: 10h\nevents:\n- {at: 0s, repeat: {every: 1s, events: [{at: 0s, restart: {}}]}}\n"
	s, err = scenariofile.Complete("test", []byte(text), ".")
	require.NoError(t, err)
	events, more = eventsOf(simulated(s), nil)
	require.Len(t, events, 1)
	require.Len(t, events[0].Spans, pageTimes)
	require.Equal(t, 36_001-pageTimes, more)
}

func touchedIn(t *testing.T, s *scenariofile.Scenario) []simulation.Touched {
	t.Helper()
	played := simulated(s)
	played.Points = 1
	r, err := simulation.Play(t.Context(), *played)
	require.NoError(t, err)
	return r.Series.Touched
}

func simulated(s *scenariofile.Scenario) *simulation.Scenario {
	played, _ := s.Simulation(context.Background(), nil)
	return &played
}
