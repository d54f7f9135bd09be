package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/internal/scenario"
)

// A roll drains one node, replaces it, waits, and goes on with the next.
func TestRoll(t *testing.T) {
	s := &scenario.Scenario{
		Cluster:    scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 3, PodsPerNode: 2, DaemonSetPodsPerNode: 1}}},
		Events:     []scenario.Event{{At: at(time.Minute), Roll: &scenario.Roll{Selector: scenario.Selector{Zone: ptr("a")}, After: at(90 * time.Second), Wait: at(30 * time.Second)}}},
		Reschedule: &scenario.Reschedule{},
		Until:      at(20 * time.Minute),
	}
	lines, r := play(t, s)
	var told []string
	for _, line := range lines {
		if strings.Contains(line, `"kind":"event"`) {
			told = append(told, line)
		}
	}
	require.Equal(t, []string{
		`{"t":60.000,"kind":"event","nodes":["a-000"],"number":1,"text":"drain node a-000"}`,
		`{"t":60.000,"kind":"event","nodes":["a-000"],"number":1,"text":"replaceNode node a-000"}`,
		`{"t":60.000,"kind":"event","number":1,"text":"roll zone a"}`,
		`{"t":150.000,"kind":"event","nodes":["a-000"],"number":1,"text":"the new nodes register"}`,
		`{"t":180.000,"kind":"event","nodes":["a-001"],"number":1,"text":"drain node a-001"}`,
		`{"t":180.000,"kind":"event","nodes":["a-001"],"number":1,"text":"replaceNode node a-001"}`,
		`{"t":270.000,"kind":"event","nodes":["a-001"],"number":1,"text":"the new nodes register"}`,
		`{"t":300.000,"kind":"event","nodes":["a-002"],"number":1,"text":"drain node a-002"}`,
		`{"t":300.000,"kind":"event","nodes":["a-002"],"number":1,"text":"replaceNode node a-002"}`,
		`{"t":390.000,"kind":"event","nodes":["a-002"],"number":1,"text":"the new nodes register"}`,
	}, told)
	require.Equal(t, 8, r.Drained, "of 6 pods: some move on to nodes that are drained later")
	require.Equal(t, r.Drained, r.ReturnedPods)
	require.Zero(t, r.PendingAtEnd)
	require.Equal(t, 3, r.ByZone[0].Nodes)
	require.Empty(t, r.Warnings)
}

// A budget holds a roll up until its pods are back.
func TestARollKeepsBudgets(t *testing.T) {
	c := New(&Clock{})
	require.NoError(t, c.AddBudget("default", "b", BudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: ptr(intstr.FromInt32(1))}))
	s := &scenario.Scenario{
		Cluster: scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 2, PodsPerNode: 2, Pod: scenario.PodFields{Labels: map[string]string{"app": "web"}}}}},
		Events: []scenario.Event{
			{At: at(time.Minute), Roll: &scenario.Roll{Selector: scenario.Selector{Zone: ptr("a")}}},
		},
		Reschedule: &scenario.Reschedule{},
		Until:      at(20 * time.Minute),
	}
	_, r := playOn(t, c, s)
	require.GreaterOrEqual(t, r.Drained, 4)
	require.Equal(t, 3, r.Budgets[0].LowestReady)
	require.Zero(t, r.Budgets[0].MostBelow)
}

func TestReplacingManyAtOnceWarns(t *testing.T) {
	_, r := play(t, &scenario.Scenario{
		Cluster: scenario.Cluster{Zones: []scenario.Zone{{Name: "a", Nodes: 3}}},
		Events: []scenario.Event{
			{At: at(time.Minute), ReplaceNode: &scenario.ReplaceNode{Selector: scenario.Selector{Zone: ptr("a")}}},
			{At: at(2 * time.Minute), ReplaceNode: &scenario.ReplaceNode{Selector: scenario.Selector{Node: "a-000"}}},
		},
		Until: at(5 * time.Minute),
	})
	require.Equal(t, []string{"event 1 (at 1m0s) replaces 3 nodes at once, with their pods; roll drains and replaces one after the other"}, r.Warnings)
}
