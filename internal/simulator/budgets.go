package simulator

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BudgetSpec is the part of a PodDisruptionBudget's spec that counts. It is a type of our own, because the policy/v1 API is
// younger than the oldest Kubernetes that this package is built with.
type BudgetSpec struct {
	MinAvailable, MaxUnavailable *intstr.IntOrString
	Selector                     *metav1.LabelSelector
	// UnhealthyPodEvictionPolicy is nil, IfHealthyBudget or AlwaysAllow.
	UnhealthyPodEvictionPolicy *string
}

// AddBudgetSpec is AddBudget for the whole spec of a budget. The spec also says whether the eviction API always evicts
// pods that are not Ready.
func (c *Cluster) AddBudgetSpec(namespace, name string, spec BudgetSpec) error {
	const ifHealthyBudget, alwaysAllow = "IfHealthyBudget", "AlwaysAllow"
	policy := ifHealthyBudget
	if spec.UnhealthyPodEvictionPolicy != nil {
		policy = *spec.UnhealthyPodEvictionPolicy
	}
	if policy != ifHealthyBudget && policy != alwaysAllow {
		return fmt.Errorf("unhealthyPodEvictionPolicy: %q is neither %s nor %s", policy, ifHealthyBudget, alwaysAllow)
	}
	if err := c.AddBudget(namespace, name, spec.Selector, spec.MinAvailable, spec.MaxUnavailable); err != nil {
		return err
	}
	c.levels.budgets[len(c.levels.budgets)-1].alwaysUnhealthy = policy == alwaysAllow
	return nil
}

// healthy counts a pod that is Ready in the API for its budgets when it appears (+1) or goes (-1).
func (c *Cluster) healthy(p *pod, by int) {
	if p.member == 0 || !p.ready || !c.counts(p) {
		return
	}
	for _, b := range c.levels.members[p.member-1].budgets {
		c.levels.budgets[b].healthy += by
	}
}

// refusal returns the error with which the eviction API refuses to evict a pod; nil if it allows the eviction. The rules
// are those of the API server. Pods that do not run or are deleted already may always be evicted. A pod that is not Ready
// may be evicted if enough others are Ready, or always if the budget says so. Two budgets for one pod are an error.
func (c *Cluster) refusal(i int32) error {
	p := &c.pods[i]
	if p.member == 0 || p.terminating || p.phase.finished() || phases[p.phase] == v1.PodPending {
		return nil
	}
	budgets := c.levels.members[p.member-1].budgets
	switch len(budgets) {
	case 0:
		return nil
	case 1:
	default:
		return apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
	}
	b := &c.levels.budgets[budgets[0]]
	needed := b.need(b.desired)
	switch {
	case b.desired > 0 && b.healthy > needed:
		return nil
	case !p.ready && (b.alwaysUnhealthy || b.healthy >= needed && needed > 0):
		return nil
	}
	err := apierrors.NewTooManyRequests("the eviction would violate the pod's disruption budget", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    "DisruptionBudget", // policyv1.DisruptionBudgetCause
		Message: fmt.Sprintf("budget %s needs %d healthy pods and has %d", b.name, needed, b.healthy),
	}}
	return err
}
