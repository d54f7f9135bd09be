package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/scenariofile"
	"github.com/evictkit/evictkit/examples/simulate/page"
)

func TestBands(t *testing.T) {
	s, err := scenariofile.Complete("test", []byte(`
cluster: {zones: [{name: a, nodes: 4}, {name: b, nodes: 4}]}
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
- {at: 95s, deletePod: {name: x}}
- {at: 200s, fail: {zone: a}}
until: 100s
`), ".")
	require.NoError(t, err)
	bands := map[float64]float64{}
	for _, e := range eventsOf(s) {
		bands[e.At] = e.Until
	}
	require.Equal(t, map[float64]float64{10: 40, 20: 30, 30: 0, 40: 0, 50: 60, 55: 0, 60: 0, 70: 80, 75: 80, 80: 0, 85: 100, 90: 0, 95: 0, 200: 0}, bands)
	require.Contains(t, eventsOf(s), page.Event{At: 10, Until: 40, Text: "fail 2 nodes of zone a"})
}
