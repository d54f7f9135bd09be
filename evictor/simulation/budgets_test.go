package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

// The two pods of a node that fell silent are not Ready: the other six decide, unless the budget lets such pods always go.
func TestUnhealthyPodEvictionPolicy(t *testing.T) {
	always, ifHealthy := "AlwaysAllow", "IfHealthyBudget"
	for _, c := range []struct {
		policy  *string
		needed  int
		evicted int
	}{
		{nil, 6, 2}, {nil, 7, 0}, {nil, 0, 2},
		{&ifHealthy, 6, 2}, {&ifHealthy, 7, 0},
		{&always, 6, 2}, {&always, 7, 2}, {&always, 8, 2},
	} {
		least := intstr.FromInt(c.needed)
		spec := budgetSpec{
			MinAvailable: &least, UnhealthyPodEvictionPolicy: c.policy, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		}
		s := Scenario{Until: 20 * time.Minute, Zones: appX(4), ReplaceAfter: -1}
		s.AskBudgets, s.Config = true, configured(func(c *evictor.Config) { c.Nodes.NodeEvictionRate = 1 })
		s.Events = []Event{{At: time.Minute, Fail: named("a-000")}}
		cluster := newCluster(clockOf(nil))
		require.NoError(t, cluster.AddBudget("default", "x", spec))
		_, _, r := told(t, cluster, s)
		policy := "none"
		if c.policy != nil {
			policy = *c.policy
		}
		require.Equal(t, c.evicted, r.Evicted, fmt.Sprint(policy, ", ", c.needed, " needed"))

		// Pods that are Ready are under the budget, whatever it says of others.
		s.Events[0] = Event{At: time.Minute, Taint: &Taint{Nodes: Nodes{Names: []string{"a-000"}}, NodeTaint: NodeTaint{Key: "k", Effect: "NoExecute"}}}
		cluster = newCluster(clockOf(nil))
		require.NoError(t, cluster.AddBudget("default", "x", spec))
		_, _, r = told(t, cluster, s)
		require.Equal(t, min(2, 8-c.needed), r.Evicted, fmt.Sprint(policy, ", ", c.needed, " needed"))
	}
}

// TestTwoBudgetsOfAPodAreAnError of the API server, as eviction.go of kube-apiserver v1.37.2 makes it: a 500 without a
// reason.
func TestTwoBudgetsOfAPodAreAnError(t *testing.T) {
	least := intstr.FromInt(0)
	cluster := newCluster(clockOf(nil))
	for _, name := range []string{"one", "another"} {
		spec := budgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}
		require.NoError(t, cluster.AddBudget("default", name, spec))
	}
	s := Scenario{Until: 20 * time.Minute, Zones: appX(4), ReplaceAfter: -1, Events: []Event{{At: time.Minute, Fail: named("a-000")}}}
	s.AskBudgets = true
	_, _, r := told(t, cluster, s)
	require.Zero(t, r.Evicted)
	err := cluster.refusal(0)
	require.EqualError(t, err, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	require.True(t, apierrors.IsInternalError(err))
	require.Equal(t, metav1.StatusReasonUnknown, apierrors.ReasonForError(err))
}

func TestAPolicyThatNobodyKnowsIsRefused(t *testing.T) {
	never := "Never"
	err := newCluster(clockOf(nil)).AddBudget("n", "b", budgetSpec{UnhealthyPodEvictionPolicy: &never})
	require.ErrorContains(t, err, `unhealthyPodEvictionPolicy: "Never"`)
}

// A pod that gets other labels leaves the budgets that select it no more, and enters those that do.
func TestABudgetFollowsLabels(t *testing.T) {
	c, least := newCluster(clockOf(nil)), intstr.FromInt(1)
	require.NoError(t, c.AddNode("n", zone.Key{}))
	for _, app := range []string{"x", "y"} {
		require.NoError(t, c.AddBudget("default", app, budgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}))
	}
	pod := func(i int) evictor.PodKey { return evictor.PodKey{Namespace: "default", Name: fmt.Sprint("p", i)} }
	for i, owner := range []string{"", "ReplicaSet", "DaemonSet"} {
		require.NoError(t, c.AddPod(pod(i), "n", podSpec{OwnerKind: owner, OwnerName: owner}))
		c.SetPodLabels(c.podByID[c.id(pod(i))], map[string]string{"app": "x"})
	}
	desired := func() []int { return []int{c.levels.budgets[0].desired, c.levels.budgets[1].desired} }
	require.Equal(t, []int{2, 0}, desired(), "those of DaemonSets do not count")
	c.SetPodLabels(c.podByID[c.id(pod(1))], map[string]string{"app": "y"})
	require.Equal(t, []int{1, 1}, desired())
	recount(t, c)
	for i := range 3 {
		c.SetPodLabels(c.podByID[c.id(pod(i))], nil)
	}
	require.Equal(t, []int{0, 0}, desired())
	recount(t, c)
}

// underOne is a cluster of pods labelled app=x, one on each node, of these owners, under one budget.
func underOne(t *testing.T, least, most string, owners ...string) *cluster {
	c := newCluster(clockOf(nil))
	spec := budgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}
	for text, into := range map[string]**intstr.IntOrString{least: &spec.MinAvailable, most: &spec.MaxUnavailable} {
		if text != "" {
			value := intstr.Parse(text)
			*into = &value
		}
	}
	require.NoError(t, c.AddBudget("default", "b", spec))
	labels := c.filters.LabelsOf(&metav1.ObjectMeta{Labels: map[string]string{"app": "x"}})
	for i, owner := range owners {
		node := fmt.Sprint("n", i)
		require.NoError(t, c.AddNode(node, zone.Key{}))
		require.NoError(t, c.AddPod(evictor.PodKey{Namespace: "default", Name: fmt.Sprint("p", i)}, node, podSpec{OwnerKind: owner, OwnerName: owner, Spec: placement.Spec{Labels: labels}}))
	}
	return c
}

// A selector may match pods without labels.
func TestABudgetOfPodsWithoutLabels(t *testing.T) {
	for operator, want := range map[metav1.LabelSelectorOperator]bool{metav1.LabelSelectorOpDoesNotExist: false, metav1.LabelSelectorOpExists: true} {
		c, all := newCluster(clockOf(nil)), intstr.Parse("100%")
		require.NoError(t, c.AddBudget("default", "b", budgetSpec{
			MinAvailable: &all, Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "batch", Operator: operator}}},
		}))
		require.NoError(t, c.AddNode("n", zone.Key{}))
		require.NoError(t, c.AddPod(evictor.PodKey{Namespace: "default", Name: "p"}, "n", podSpec{OwnerKind: "ReplicaSet", OwnerName: "r"}))
		require.Equal(t, []bool{want}, mayGo(c), operator)
	}
}

// mayGo says for each pod, in turn, whether the eviction API lets it go; one that may go is gone then.
func mayGo(c *cluster) (answers []bool) {
	for i := range c.pods {
		may := c.refusal(int32(i)) == nil
		if answers = append(answers, may); may {
			c.deletePod(int32(i))
		}
	}
	return answers
}

// A Job and a DaemonSet have no scale: the disruption controller cannot tell how many of their pods there should be,
// and lets none go that is Ready, unless the budget needs a number of pods. It does so even for the pods of others
// under the same budget.
func TestABudgetByScaleOfAJobLetsNothingGo(t *testing.T) {
	for _, rule := range [][2]string{{"", "1"}, {"", "100%"}, {"0%", ""}, {"50%", ""}} {
		require.Equal(t, []bool{false, false}, mayGo(underOne(t, rule[0], rule[1], "Job", "Job")), rule)
		require.Equal(t, []bool{false, false}, mayGo(underOne(t, rule[0], rule[1], "ReplicaSet", "DaemonSet")), rule)
		require.Equal(t, []bool{false, false}, mayGo(underOne(t, rule[0], rule[1], "Node", "ReplicaSet")), rule)
	}
	require.Equal(t, []bool{true, false}, mayGo(underOne(t, "1", "", "Job", "Job")))
	require.Equal(t, []bool{true, true}, mayGo(underOne(t, "1", "", "Job", "Job", "DaemonSet"))[:2], "the DaemonSet's pod is Ready, too")

	c := underOne(t, "", "1", "Job", "Job")
	require.ErrorContains(t, c.refusal(0), "disruption budget")
	require.Equal(t, "budget b counts by scale, and a controller of its pods has none, so it allows nothing", textOf(c.refusal(0)))
	c.setReady(0, false)
	require.Error(t, c.refusal(0), "nobody knows whether enough others are Ready")
	c.levels.budgets[0].alwaysUnhealthy = true
	require.NoError(t, c.refusal(0))
}

// Pods without a controller are Ready, but nobody says how many there should be: a budget by scale may lose as many
// more.
func TestPodsWithoutAControllerAddToTheHealthyOnly(t *testing.T) {
	require.Equal(t, []bool{true, true, true, false}, mayGo(underOne(t, "", "1", "", "", "ReplicaSet", "ReplicaSet")), "2 replicas: 1 must be Ready")
	require.Equal(t, []bool{true, true, false}, mayGo(underOne(t, "100%", "", "", "", "ReplicaSet")), "of 1")
	require.Equal(t, []bool{false, false}, mayGo(underOne(t, "", "1", "", "")), "no controller wants a pod")
	require.Equal(t, []bool{true, false}, mayGo(underOne(t, "1", "", "", "")))
	recountBudgets(t, underOne(t, "50%", "", "ReplicaSet", "", "Job"))
}

// A controller whose pods are gone and do not come back is not known to the budget any more.
func TestAControllerWithoutPodsHasNoScale(t *testing.T) {
	require.Equal(t, []bool{true, false}, mayGo(underOne(t, "", "100%", "ReplicaSet", "")))
	c := underOne(t, "", "100%", "ReplicaSet", "")
	c.replacePods()
	require.Equal(t, []bool{true, true}, mayGo(c))
}
