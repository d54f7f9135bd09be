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
		return &played{traces: []trace{{"a", 60, []int{4, 3, 2, 1, 0}}, {"b", 60, []int{1, 0}}}, until: 5 * time.Minute}
	}
	first, second = traced(), traced()
	first.half(1)
	require.Equal(t, &played{traces: []trace{{"a", 60, []int{4, 3}}, {"b", 60, []int{1, 0}}}, until: 2 * time.Minute}, first)
	second.half(2)
	require.Equal(t, &played{traces: []trace{{"a", 60, []int{2, 1, 0}}, {"b", 60, []int{0}}}, until: 3 * time.Minute}, second)
}

// Every four hours, and of one zone after the other.
func TestAlarms(t *testing.T) {
	p := &played{until: day}
	for _, zone := range []string{"b", "a", "b"} {
		n := machine(zone, "1", "0")
		n.Labels = map[string]string{v1.LabelTopologyZone: zone}
		p.nodes = append(p.nodes, n)
	}
	for _, alarm := range Alarms() {
		var text strings.Builder
		alarm.write(&text, p)
		require.Equal(t, 6, strings.Count(text.String(), "loseLeases"), alarm.Name)
		require.Equal(t, 6, strings.Count(text.String(), "showLeases"), alarm.Name)
		if alarm.Zone {
			require.Contains(t, text.String(), "- {at: 2h0m0s, loseLeases: {zone: a}}\n- {at: 2h15m0s, showLeases: {zone: a}}\n- {at: 6h0m0s, loseLeases: {zone: b}}\n")
		} else {
			require.Contains(t, text.String(), `{at: 22h0m0s, loseLeases: {selector: ""}}`)
		}
	}
}
