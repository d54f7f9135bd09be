package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/zone"
)

// shop has three nodes with one pod each of a Deployment, and a budget.
func shop(t *testing.T, budgetFirst bool, minAvailable, maxUnavailable *intstr.IntOrString) *cluster {
	c := newCluster(clockOf(nil))
	add := func() {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		require.NoError(t, c.AddBudget("shop", "web", budgetSpec{Selector: selector, MinAvailable: minAvailable, MaxUnavailable: maxUnavailable}))
		require.NoError(t, c.AddBudget("other", "web", budgetSpec{Selector: selector, MinAvailable: minAvailable, MaxUnavailable: maxUnavailable}))
	}
	if budgetFirst {
		add()
	}
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, c.AddNode(name, zone.Key{Zone: "z"}))
		pod := &v1.Pod{}
		pod.Namespace, pod.Name, pod.Labels = "shop", "web-1-"+name, map[string]string{"app": "web", "pod-template-hash": "1"}
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", Controller: ptr(true)}}
		pod.Spec.NodeName, pod.Spec.Tolerations = name, []v1.Toleration{{Operator: v1.TolerationOpExists}}
		_, err := c.AddPodObject(pod)
		require.NoError(t, err)
	}
	if !budgetFirst {
		add()
	}
	return c
}

// What comes later lacked nothing before, and a zone that has lost all its nodes has had none.
func TestLevelsBeginWithWhatTheyCount(t *testing.T) {
	_, r := playOn(t, newCluster(clockOf(nil)), Scenario{
		Zones: []Zone{{Name: "a", Nodes: 2, PodsPerNode: 3}, {Name: "b", Nodes: 1}}, ReplaceAfter: -1, Until: 30 * time.Minute, Points: 100,
		Events: []Event{
			{At: 10 * time.Minute, AddNode: &AddNode{Name: "c-0", Zone: "c", PodsPerNode: 4}}, {At: 11 * time.Minute, AddNode: &AddNode{Name: "a-x", Zone: "a", PodsPerNode: 2}},
			{At: 12 * time.Minute, DeleteNode: &Nodes{Zone: "b"}},
		},
	})
	require.InDelta(t, 1, r.LowestReadyShare, 0)
	lowest := make(map[string]int)
	for i := range r.Zones {
		lowest[r.Zones[i].Name] = r.Zones[i].LowestNodes
	}
	require.Equal(t, map[string]int{":a": 2, ":b": 0, ":c": 1}, lowest)
	for i := range r.Workloads {
		require.Zero(t, r.Workloads[i].Below, r.Workloads[i].Name)
		require.NotZero(t, r.Workloads[i].LowestReady, r.Workloads[i].Name)
	}
}

// A budget does not stop deletions, but the report says for how long fewer pods lived than it needs.
func TestBudgetsAreReported(t *testing.T) {
	for _, test := range []struct {
		name                         string
		minAvailable, maxUnavailable *intstr.IntOrString
		needed, most                 int
	}{
		{"a number", ptr(intstr.FromInt(2)), nil, 2, 1},
		{"a share is rounded up", ptr(intstr.FromString("50%")), nil, 2, 1},
		{"none may lack", nil, ptr(intstr.FromInt(0)), 3, 2},
		{"a share that may lack is rounded up", nil, ptr(intstr.FromString("40%")), 1, 0},
		{"neither", nil, nil, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, first := range []bool{true, false} {
				_, r := playOn(t, shop(t, first, test.minAvailable, test.maxUnavailable), Scenario{
					Events: []Event{
						{At: time.Minute, Fail: named("a")},
						{At: 2 * time.Minute, Fail: named("b")},
						{At: 5 * time.Minute, Recover: &Nodes{Zone: "z"}},
					},
					Until:        10 * time.Minute,
					ReplaceAfter: -1,
				})
				level := Level{
					Desired: 3, LowestReady: 1, LowestReadyShare: 1.0 / 3, ReadyAtEnd: 3,
					Lows: Lows{LowestAt: 2 * time.Minute, Below: 4 * time.Minute, BelowHalf: 3 * time.Minute}, LongestBelowHalf: 3 * time.Minute, PodHoursMissing: (7 * time.Minute).Hours(),
				}
				require.Equal(t, 3*time.Minute, r.AnyBelowHalf)
				below := map[int]time.Duration{0: 0, 1: 3 * time.Minute, 2: 4 * time.Minute}[test.most]
				require.Equal(t, []WorkloadReport{{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}, Kind: "Deployment", Level: level, Budgets: 1, BelowBudget: below,
					Unserved: Unserved{PodsWithoutEndpoints: 2, MostEndpointsGone: 2, LongestWithoutEndpoints: 3*time.Minute + 15*time.Second}}}, r.Workloads)
				require.Equal(t, []BudgetReport{
					{NamespacedName: types.NamespacedName{Namespace: "other", Name: "web"}},
					{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}, Desired: 3, Needed: test.needed, LowestReady: 1, Below: below, LongestBelow: below, MostBelow: test.most},
				}, adjusted(r.Budgets), "one without pods lacks none")
			}
		})
	}
}

// A workload is below its budgets while any of them is not kept, and time counts once.
func TestWorkloadsBelowTheirBudgets(t *testing.T) {
	c := shop(t, true, ptr(intstr.FromInt(2)), nil)
	all := budgetSpec{Selector: &metav1.LabelSelector{}, MaxUnavailable: ptr(intstr.FromInt(0))}
	require.NoError(t, c.AddBudget("shop", "all", all))
	_, r := playOn(t, c, Scenario{
		Zones: []Zone{{Name: "y", Nodes: 1, PodsPerNode: 1}},
		Events: []Event{
			{At: time.Minute, Fail: named("a")},
			{At: 2 * time.Minute, Fail: named("b")},
			{At: 5 * time.Minute, Recover: named("b")},
			{At: 6 * time.Minute, Recover: named("a")},
			{At: 8 * time.Minute, Fail: named("y-000")},
		},
		Until:        12 * time.Minute,
		ReplaceAfter: -1,
		Points:       12,
	})
	require.Len(t, r.Workloads, 2)
	require.Equal(t, "default/ReplicaSet/y", r.Workloads[0].String())
	require.Zero(t, r.Workloads[0].Budgets, "the other namespace's budgets are not its own")
	require.Zero(t, r.Workloads[0].BelowBudget)
	require.Equal(t, 2, r.Workloads[1].Budgets)
	require.Equal(t, 5*time.Minute, r.Workloads[1].BelowBudget)
	require.Equal(t, [][]byte{{100, 100, 0, 0}, {100, 33, 100, 100}}, r.Series.Workloads)
	require.Equal(t, [][]byte{nil, {0, 1, 0, 0}}, r.Series.BelowBudget)
}

// Time counts once, however many workloads are below half, and goes on counting where one is at the end.
func TestAnyBelowHalf(t *testing.T) {
	zones := []Zone{{Name: "a", Nodes: 1, PodsPerNode: 2}, {Name: "b", Nodes: 1, PodsPerNode: 2}, {Name: "c", Nodes: 1, PodsPerNode: 2}}
	for i := range zones {
		zones[i].TolerationSeconds = ptr(TolerationSeconds(3600))
	}
	_, r := play(t, Scenario{
		Zones: zones,
		Events: []Event{
			{At: time.Minute, Fail: &Nodes{Zone: "a"}},
			{At: 2 * time.Minute, Fail: &Nodes{Zone: "b"}},
			{At: 3 * time.Minute, Recover: &Nodes{Zone: "a"}},
			{At: 4 * time.Minute, Recover: &Nodes{Zone: "b"}},
			{At: 8 * time.Minute, Fail: &Nodes{Zone: "c"}},
		},
		Until:        10 * time.Minute,
		ReplaceAfter: -1,
	})
	require.Equal(t, 5*time.Minute, r.AnyBelowHalf)
	require.Contains(t, Figures(r), Figure{Name: "anyBelowHalfSeconds", Value: 300})
}

// adjusted leaves out what a budget without pods wants.
func adjusted(budgets []BudgetReport) []BudgetReport {
	budgets[0].Needed = 0
	return budgets
}

func TestBudgetThatSaysNoNumber(t *testing.T) {
	c := newCluster(clockOf(nil))
	for _, text := range []string{"half", "50", "-5%", "%"} {
		require.ErrorContains(t, c.AddBudget("n", "b", budgetSpec{MinAvailable: ptr(intstr.FromString(text))}), text)
	}
	require.Error(t, c.AddBudget("n", "b", budgetSpec{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Sometimes"}}}}))
}

// The report says what nodes waited for, and for how long at least one did.
func TestLimits(t *testing.T) {
	_, r := play(t, Scenario{
		LeasesTogether: true,
		Zones:          []Zone{{Name: "a", Nodes: 10}, {Name: "b", Nodes: 10}},
		Events: []Event{
			{At: time.Minute, Fail: &Nodes{Zone: "a", Count: 6}},
			{At: 10 * time.Minute, Fail: &Nodes{Zone: "a"}},
			{At: 20 * time.Minute, Recover: &Nodes{Zone: "a"}},
			{At: 30 * time.Minute, Fail: &Nodes{Zone: "a"}},
			{At: 30 * time.Minute, Fail: &Nodes{Zone: "b"}},
		},
		Until:        40 * time.Minute,
		ReplaceAfter: -1,
	})
	// The last heartbeat was seen at 50s, so that the first pass after 100s finds them silent; a zone of ten is small, so that 6 of 10 stop it.
	stopped := Limit{State: "PartialDisruption", From: 105 * time.Second, Ready: 4, NotReady: 6, Waited: 9 * time.Minute, Most: 6}
	full := Limit{State: "FullDisruption", Rate: 0.1, From: 645 * time.Second, NotReady: 10, Waited: 100 * time.Second, Most: 10}
	down := func(from time.Duration) Limit {
		return Limit{State: "AllZonesDisrupted", From: from, NotReady: 10, Waited: 40*time.Minute - from, Most: 10}
	}
	// One is tainted every ten seconds, the first once the bucket that was empty has a token.
	require.Len(t, r.Zones, 2)
	require.Equal(t, []Limit{stopped, full, down(1845 * time.Second)}, r.Zones[0].Limits)
	require.Equal(t, []Limit{down(1845 * time.Second)}, r.Zones[1].Limits)
}

// An eviction that an API outage delayed for more than a minute, until the node was back, is lost.
func TestLostAndNeedless(t *testing.T) {
	for _, test := range []struct {
		up, back                              time.Duration
		evicted, lost, needless, beforeReturn int
	}{
		{420 * time.Second, 11 * time.Minute, 4, 0, 4, 4}, // the API is up again before the pods are overdue
		{420 * time.Second, 15 * time.Minute, 4, 0, 0, 4}, // an outage of more than ten minutes, which ends soon after the evictions
		{420 * time.Second, 20 * time.Minute, 4, 0, 0, 0},
		{1000 * time.Second, 15 * time.Minute, 0, 4, 0, 0},
	} {
		_, r := play(t, Scenario{
			LeasesTogether: true,
			Zones:          []Zone{{Name: "a", Nodes: 1, PodsPerNode: 4, DaemonSetPodsPerNode: 1}, {Name: "b", Nodes: 3}},
			Events: []Event{
				{At: time.Minute, Fail: &Nodes{Zone: "a"}},
				{At: 3 * time.Minute, API: &API{State: APIDown}},
				{At: test.up, API: &API{State: APIUp}},
				{At: test.back, Recover: &Nodes{Zone: "a"}},
			},
			Until:        30 * time.Minute,
			ReplaceAfter: -1,
		})
		require.Equal(t, test.evicted, r.Evicted)
		require.Equal(t, test.lost, r.LostEvictions)
		require.Equal(t, test.needless, r.NeedlessEvictions)
		require.Equal(t, test.beforeReturn, r.EvictedBeforeReturn)
		require.Equal(t, test.evicted, r.MostTerminating)
		require.Zero(t, r.TerminatingAtEnd, "the kubelet is back")
	}
}
