package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// foreignTaints lets another controller write the taints of nodes all the time, as whole objects, while ours taints and
// lifts.
func (c *cluster) foreignTaints(t *testing.T, nodes []string) {
	ctx, stop := context.WithCancel(c.ctx)
	edited := make(chan error, len(nodes))
	for _, node := range nodes {
		go func() { edited <- c.edit(ctx, node) }()
	}
	for range 2 {
		c.Stop(nodes...)
		c.wait(t, soon, func(now *Now) string { return untainted(now, nodes) })
		c.Start(nodes...)
		c.wait(t, soon, func(now *Now) string {
			for _, node := range nodes {
				for _, taint := range now.Node(node).Spec.Taints {
					if taint.Key != foreignKey {
						return fmt.Sprintf("node %s has the taint %s", node, taint.ToString())
					}
				}
			}
			return ""
		})
	}
	stop()
	for range nodes {
		require.NoError(t, <-edited)
	}
	c.wait(t, soon, func(now *Now) string {
		for _, node := range nodes {
			if len(now.Node(node).Spec.Taints) > 0 {
				return fmt.Sprintf("node %s has taints", node)
			}
		}
		return ""
	})
}

const foreignKey = "example.com/foreign"

// edit changes the value of one taint until ctx ends, and then removes the taint. It fails if one of its writes is
// lost.
func (c *cluster) edit(ctx context.Context, name string) error {
	client := c.client.CoreV1().Nodes()
	wrote := ""
	conflicts, writes := 0, 0
	for i := 0; ; i++ {
		node, err := client.Get(c.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		at := slices.IndexFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == foreignKey })
		if wrote != "" && (at < 0 || node.Spec.Taints[at].Value != wrote) {
			return fmt.Errorf("node %s: the write of %s was lost: %v", name, wrote, node.Spec.Taints)
		}
		next := fmt.Sprint(i)
		switch over := ctx.Err() != nil; {
		case over && at < 0:
			return errors.New("nothing was written")
		case over:
			next, node.Spec.Taints = "", slices.Delete(node.Spec.Taints, at, at+1)
		case at < 0:
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: foreignKey, Value: next, Effect: v1.TaintEffectPreferNoSchedule})
		default:
			node.Spec.Taints[at].Value = next
		}
		switch _, err = client.Update(c.ctx, node, metav1.UpdateOptions{}); {
		case err == nil && next == "":
			return nil
		case err == nil:
			wrote = next
			writes++
		case apierrors.IsConflict(err):
			conflicts++
		default:
			return fmt.Errorf("after %d writes and %d conflicts: %w", writes, conflicts, err)
		}
	}
}

// budget protects the pods with that pod's label; allow changes how many disruptions are allowed. The test stands in
// for kube-controller-manager's disruption controller.
func (c *cluster) budget(t *testing.T, pod string) (allow func(disruptions int32)) {
	t.Helper()
	_, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Patch(c.ctx, pod, "application/merge-patch+json", []byte(`{"metadata":{"labels":{"budget":"yes"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	budgets := c.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	one := intstr.FromInt32(1)
	made, err := budgets.Create(c.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "budget"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"budget": "yes"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = budgets.Delete(c.ctx, "budget", metav1.DeleteOptions{}) })
	allow = func(disruptions int32) {
		made.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: made.Generation, DisruptionsAllowed: disruptions, CurrentHealthy: disruptions, DesiredHealthy: 1, ExpectedPods: 1}
		made, err = budgets.UpdateStatus(c.ctx, made, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	allow(0)
	return allow
}
