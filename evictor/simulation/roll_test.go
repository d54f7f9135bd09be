package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A roll drains one node, replaces it, waits, and goes on with the next.
func TestRoll(t *testing.T) {
	s := Scenario{
		Zones:  []Zone{{Name: "a", Nodes: 3, PodsPerNode: 2, DaemonSetPodsPerNode: 1}},
		Events: []Event{{At: time.Minute, Roll: &Roll{Nodes: Nodes{Zone: "a"}, After: 90 * time.Second, Wait: 30 * time.Second}}},
		Until:  20 * time.Minute,
	}
	lines, r := play(t, s)
	var told []string
	for _, line := range lines {
		if strings.Contains(line, `"kind":"event"`) {
			told = append(told, line)
		}
	}
	require.Equal(t, []string{
		`{"t":60.000,"kind":"event","nodes":["a-000"],"number":1,"text":"drain node a-000 (bare: evict, emptyDir: evict, wait: false)"}`,
		`{"t":60.000,"kind":"event","nodes":["a-000"],"number":1,"text":"replaceNode node a-000"}`,
		`{"t":60.000,"kind":"event","number":1,"text":"roll zone a"}`,
		`{"t":150.000,"kind":"event","nodes":["a-000"],"number":1,"text":"the new nodes register"}`,
		`{"t":180.000,"kind":"event","nodes":["a-001"],"number":1,"text":"drain node a-001 (bare: evict, emptyDir: evict, wait: false)"}`,
		`{"t":180.000,"kind":"event","nodes":["a-001"],"number":1,"text":"replaceNode node a-001"}`,
		`{"t":270.000,"kind":"event","nodes":["a-001"],"number":1,"text":"the new nodes register"}`,
		`{"t":300.000,"kind":"event","nodes":["a-002"],"number":1,"text":"drain node a-002 (bare: evict, emptyDir: evict, wait: false)"}`,
		`{"t":300.000,"kind":"event","nodes":["a-002"],"number":1,"text":"replaceNode node a-002"}`,
		`{"t":390.000,"kind":"event","nodes":["a-002"],"number":1,"text":"the new nodes register"}`,
	}, told)
	require.Equal(t, 8, r.Drained, "of 6 pods: some move on to nodes that are drained later")
	require.Equal(t, r.Drained, r.ReturnedPods)
	require.Zero(t, r.PendingAtEnd)
	require.Equal(t, 3, r.Zones[0].Nodes)
	require.Empty(t, r.Warnings)
}

// A budget holds a roll up until its pods are back.
func TestARollKeepsBudgets(t *testing.T) {
	c := newCluster(clockOf(nil))
	require.NoError(t, c.AddBudget("default", "b", budgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: ptr(intstr.FromInt(1))}))
	s := Scenario{
		Zones: []Zone{{Name: "a", Nodes: 2, PodsPerNode: 2, Pod: PodFields{Labels: map[string]string{"app": "web"}}}},
		Events: []Event{
			{At: time.Minute, Roll: &Roll{Nodes: Nodes{Zone: "a"}}},
		},
		Until: 20 * time.Minute,
	}
	_, r := playOn(t, c, s)
	require.GreaterOrEqual(t, r.Drained, 4)
	require.Equal(t, 3, r.Budgets[0].LowestReady)
	require.Zero(t, r.Budgets[0].MostBelow)
}

// Who uncordons a node does not stop a roll, which drains it to the end and does not replace it before.
func TestARollGoesOnThoughItsNodeIsUncordoned(t *testing.T) {
	lines, r := playOn(t, budgeted(t, 1), Scenario{
		Zones: appX(3),
		Events: []Event{
			{At: time.Minute, Roll: &Roll{Nodes: *named("a-000")}},
			{At: 62 * time.Second, Uncordon: named("a-000")},
		},
		Until: 10 * time.Minute, ReplaceAfter: 12 * time.Second,
	})
	require.GreaterOrEqual(t, r.Drained, 2, "and what landed there meanwhile")
	require.Equal(t, 5, r.Budgets[0].LowestReady)
	require.Zero(t, r.RollsUnfinished)
	require.Contains(t, strings.Join(lines, "\n"), "replaceNode node a-000")
}

func TestReplacingManyAtOnceWarns(t *testing.T) {
	_, r := play(t, Scenario{
		Zones: []Zone{{Name: "a", Nodes: 3}},
		Events: []Event{
			{At: time.Minute, ReplaceNode: &ReplaceNode{Nodes: Nodes{Zone: "a"}}},
			{At: 2 * time.Minute, ReplaceNode: &ReplaceNode{Nodes: Nodes{Names: []string{"a-000"}}}},
		},
		Until:        5 * time.Minute,
		ReplaceAfter: -1,
	})
	require.Equal(t, []string{"event 1 (at 1m) replaces 3 nodes at once, with their pods; roll drains and replaces one after the other"}, r.Warnings)
}
