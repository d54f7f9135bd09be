package simulation

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
)

// Features that could only keep pods from nodes.
const (
	unboundClaims    = "persistent volume claims"
	resourceClaims   = "resource claims"
	schedulingGates  = "scheduling gates"
	namespacesLabels = "affinity by labels of namespaces"
)

// understated returns those features that could only keep more pods from more nodes, so that without them figures of Pending
// pods are lower bounds; nil if there are none or no pod comes back.
func understated(notSimulated map[string]int, replaced bool) (by map[string]int) {
	for _, feature := range []string{unboundClaims, resourceClaims, schedulingGates, namespacesLabels} {
		if pods := notSimulated[feature]; pods > 0 && replaced {
			if by == nil {
				by = make(map[string]int)
			}
			by[feature] = pods
		}
	}
	return by
}

// noteIgnored counts features of a pod that would decide where it may go in a real cluster, and do not here.
func (c *cluster) noteIgnored(spec *v1.PodSpec) {
	for _, of := range [...]struct {
		what string
		has  bool
	}{
		{resourceClaims, later.Some(spec, "ResourceClaims")},
		{"preferred affinity", prefers(spec.Affinity)},
		{"a scheduler of their own", ownScheduler(spec)},
		{schedulingGates, later.Some(spec, "SchedulingGates")},
		{"priorities (nothing is preempted)", spec.Priority != nil && *spec.Priority > 0},
		{namespacesLabels, byNamespaceLabels(spec.Affinity)},
	} {
		if of.has {
			c.ignore(of.what)
		}
	}
}

func ownScheduler(spec *v1.PodSpec) bool {
	return spec.SchedulerName != "" && spec.SchedulerName != v1.DefaultSchedulerName
}

// schedulable says whether nobody but kube-scheduler keeps a pod from a node.
func schedulable(pod *v1.Pod) bool {
	kind, _ := ControllerOf(&pod.ObjectMeta)
	return kind != "DaemonSet" && kind != "Node" && !ownScheduler(&pod.Spec) &&
		!later.Some(&pod.Spec, "SchedulingGates") && !later.Some(&pod.Spec, "ResourceClaims")
}

func (c *cluster) ignore(what string) {
	if c.notSimulated == nil {
		c.notSimulated = make(map[string]int)
	}
	c.notSimulated[what]++
}

func prefers(a *v1.Affinity) bool {
	if a == nil {
		return false
	}
	return a.NodeAffinity != nil && len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAffinity != nil && len(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0
}

// byNamespaceLabels says whether terms choose namespaces by labels; only the name label is known.
func byNamespaceLabels(a *v1.Affinity) bool {
	if a == nil {
		return false
	}
	var terms []v1.PodAffinityTerm
	if a.PodAffinity != nil {
		terms = append(terms, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	if a.PodAntiAffinity != nil {
		terms = append(terms, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...)
	}
	for i := range terms {
		if s := later.NamespaceSelector(&terms[i]); s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
			return true
		}
	}
	return false
}
