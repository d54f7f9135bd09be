package outages

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// Both halves together are the whole. What has failed in the first fails at the start of the second.
func TestHalves(t *testing.T) {
	whole := func() *played {
		return &played{
			nodes: []v1.Node{machine("a", "1", "0"), machine("b", "1", "0"), machine("c", "1", "0")},
			events: []event{
				{1 * time.Minute, false, []string{"a", "b"}}, {2 * time.Minute, true, []string{"a"}}, {5 * time.Minute, false, []string{"c"}},
				{6 * time.Minute, true, []string{"b", "c"}},
			},
			until: 10 * time.Minute,
		}
	}
	first, second := whole(), whole()
	first.half(1)
	require.Equal(t, whole().events[:2], first.events)
	require.Equal(t, 5*time.Minute, first.until)
	second.half(2)
	require.Equal(t, []event{{0, false, []string{"b", "c"}}, {time.Minute, true, []string{"b", "c"}}}, second.events)
	require.Equal(t, 5*time.Minute, second.until)

	traced := func() *played {
		return &played{traces: []trace{{"a", time.Minute, []int{4, 3, 2, 1, 0}}, {"b", time.Minute, []int{1, 0}}}, until: 5 * time.Minute}
	}
	first, second = traced(), traced()
	first.half(1)
	require.Equal(t, &played{traces: []trace{{"a", time.Minute, []int{4, 3}}, {"b", time.Minute, []int{1, 0}}}, until: 2 * time.Minute}, first)
	second.half(2)
	require.Equal(t, &played{traces: []trace{{"a", time.Minute, []int{2, 1, 0}}, {"b", time.Minute, []int{0}}}, until: 3 * time.Minute}, second)
}

// Every four hours, and of one zone after the other, of which those are silent that are well all the time.
func TestAlarms(t *testing.T) {
	nodes := make([]v1.Node, 0, 4)
	for i, zone := range []string{"b", "a", "b", "b"} {
		n := machine(string(rune('k'+i)), "1", "0")
		n.Labels = map[string]string{v1.LabelTopologyZone: zone}
		nodes = append(nodes, n)
	}
	written := map[string]string{}
	for _, alarm := range Alarms() {
		p := &played{nodes: nodes, until: 12 * time.Hour, traces: []trace{{"b", time.Hour, []int{3, 3, 3, 3, 3, 2, 2, 1, 2, 2, 2, 2}}}}
		var text strings.Builder
		alarm.write(&text, p)
		written[alarm.Name] = text.String()
	}
	require.Equal(t, 3, strings.Count(written["blind observer"], "state: down"))
	require.Equal(t, 3, strings.Count(written["a minute of lost leases"], `loseLeases: {selector: ""}`))
	require.Equal(t, "- {at: 2h0m0s, partition: {nodes: [l]}}\n- {at: 2h15m0s, recover: {nodes: [l]}}\n"+
		"- {at: 6h0m0s, partition: {nodes: [k, m]}}\n- {at: 6h5m0s, recover: {nodes: [k, m]}}\n"+
		"- {at: 10h0m0s, partition: {nodes: [l]}}\n- {at: 10h45m0s, recover: {nodes: [l]}}\n", written["partitioned zone"])
}

func TestTracesAsEvents(t *testing.T) {
	p := &played{nodes: []v1.Node{machine("a", "1", "0"), machine("b", "1", "0")}, traces: []trace{{"", time.Minute, []int{4, 2, 0, 4}}}}
	p.untrace()
	require.Empty(t, p.traces)
	require.Equal(t, []event{{time.Minute, false, []string{"b"}}, {2 * time.Minute, false, []string{"a"}}, {3 * time.Minute, true, []string{"a", "b"}}}, p.events)
}
