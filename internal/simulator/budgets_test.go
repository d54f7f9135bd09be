package simulator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/internal/scenario"
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
		spec := BudgetSpec{
			MinAvailable: &least, UnhealthyPodEvictionPolicy: c.policy, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
		}
		s := &scenario.Scenario{Until: at(20 * time.Minute), Cluster: scenario.Cluster{Zones: appX(4)}}
		s.Config.UseEvictionAPI, s.Config.NodeEvictionRate = ptr(true), ptr(1.0)
		s.Events = []scenario.Event{{At: at(time.Minute), Fail: &scenario.Selector{Node: "a-000"}}}
		cluster := New(&Clock{})
		require.NoError(t, cluster.AddBudget("default", "x", spec))
		_, _, r := told(t, cluster, s)
		policy := "none"
		if c.policy != nil {
			policy = *c.policy
		}
		require.Equal(t, c.evicted, r.Evicted, fmt.Sprint(policy, ", ", c.needed, " needed"))

		// Pods that are Ready are under the budget, whatever it says of others.
		s.Events[0] = scenario.Event{At: at(time.Minute), Taint: &scenario.Taint{Selector: scenario.Selector{Node: "a-000"}, Key: "k", Effect: "NoExecute"}}
		cluster = New(&Clock{})
		require.NoError(t, cluster.AddBudget("default", "x", spec))
		_, _, r = told(t, cluster, s)
		require.Equal(t, min(2, 8-c.needed), r.Evicted, fmt.Sprint(policy, ", ", c.needed, " needed"))
	}
}

func TestAPolicyThatNobodyKnowsIsRefused(t *testing.T) {
	never := "Never"
	err := New(&Clock{}).AddBudget("n", "b", BudgetSpec{UnhealthyPodEvictionPolicy: &never})
	require.ErrorContains(t, err, `unhealthyPodEvictionPolicy: "Never"`)
}
