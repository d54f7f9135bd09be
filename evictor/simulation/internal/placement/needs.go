package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
)

// Needs is what a pod requires of its node, apart from tolerations, as stated in a file. Pods share it, and it does not
// change. nil requires nothing.
type Needs struct {
	requests    []int64 // by number of resource; missing ones are 0
	nodes       *nodeRule
	near, apart []*tally // required pod affinity (one pod must match all terms) and anti-affinity
	spread      []constraint
	ports       []hostPort
	volumes     *volumeRule // where they are
	alone       []claimID   // claims that no other pod may use at the same time
	attached    bool        // a volume cannot be attached to two nodes
	priority    int32
	preempts    int32          // pods of a lower priority than this
	rule        string         // equal for equal node rules and extended resources
	Shown       []v1.Container // as pods' objects show the requests: one container; nil if there are none
}

// requests returns what the scheduler counts for a pod: its overhead, plus the larger of two amounts: the sum over its
// containers, or the most that an init container needs together with the sidecars before it.
func (f *Filters) requests(spec *v1.PodSpec) []int64 {
	of := func(list v1.ResourceList) []int64 { return f.amounts(list, 0, mostOfOne) }
	var sum, sidecars, most []int64
	for i := range spec.Containers {
		sum = plus(sum, of(spec.Containers[i].Resources.Requests))
	}
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		asked := of(container.Resources.Requests)
		if later.Sidecar(container) {
			sidecars = plus(sidecars, asked)
			asked = sidecars
		} else {
			asked = plus(asked, sidecars)
		}
		most = larger(most, asked)
	}
	sum = larger(plus(sum, sidecars), most)
	whole := later.PodRequests(spec)
	for name := range whole {
		i := f.resource(name)
		sum = plus(sum, make([]int64, i+1))
		sum[i] = of(whole)[i]
	}
	sum = plus(sum, of(spec.Overhead))
	sum[podCount] = 1
	return sum
}

// asksNothing says whether a pod may go to any node whose taints it tolerates and that has room for one more pod.
func asksNothing(s *v1.PodSpec) bool {
	for i := range s.Containers {
		if c := &s.Containers[i]; len(c.Resources.Requests)+len(c.Ports) > 0 {
			return false
		}
	}
	return len(s.InitContainers)+len(s.Overhead)+len(s.NodeSelector)+len(s.TopologySpreadConstraints) == 0 && s.Affinity == nil && s.Priority == nil &&
		!later.Some(s, "PreemptionPolicy") && later.PodRequests(s) == nil
}

// NeedsOf returns the shared form of what a pod requires of its node.
func (f *Filters) NeedsOf(object *v1.Pod) *Needs {
	const none = "" // its key
	if shared, ok := f.needs[none]; ok && asksNothing(&object.Spec) {
		return shared // most pods of tests are such pods
	}
	rule := struct {
		Selector map[string]string `json:",omitempty"`
		Affinity *v1.NodeSelector  `json:",omitempty"`
		Extended []int             `json:",omitempty"`
	}{Selector: object.Spec.NodeSelector}
	asked := struct {
		Rule        string
		Requests    []int64
		Priority    int32                `json:",omitempty"`
		Preempts    int32                `json:",omitempty"`
		Ports       []hostPort           `json:",omitempty"`
		Near, Apart []v1.PodAffinityTerm `json:",omitempty"`
		Spread      []spreadRule         `json:",omitempty"`
		Tolerations string               `json:",omitempty"` // if it is spread over nodes whose taints it tolerates
		Namespace   string               `json:",omitempty"` // for terms that name none
	}{Requests: f.requests(&object.Spec), Ports: hostPorts(&object.Spec)}
	asked.Priority, asked.Preempts = priorityOf(&object.Spec)
	for i, amount := range asked.Requests {
		if i >= extended && amount > 0 {
			rule.Extended = append(rule.Extended, i)
		}
	}
	if a := object.Spec.Affinity; a != nil {
		if a.NodeAffinity != nil {
			rule.Affinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
		if a.PodAffinity != nil {
			asked.Near = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
		if a.PodAntiAffinity != nil {
			asked.Apart = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		}
	}
	var taint bool
	if asked.Spread, taint = spreadRules(object); taint {
		asked.Tolerations = keyOfTolerations(object.Spec.Tolerations)
	}
	if len(asked.Near)+len(asked.Apart)+len(asked.Spread) > 0 {
		asked.Namespace = object.Namespace
	}
	asked.Rule = keyOf(rule)
	key := keyOf(asked)
	if shared, ok := f.needs[key]; ok {
		return shared
	}
	n := &Needs{
		requests: asked.Requests, rule: asked.Rule, nodes: newNodeRule(rule.Selector, rule.Affinity, rule.Extended),
		ports: asked.Ports, priority: asked.Priority, preempts: asked.Preempts, Shown: shown(f.resources, asked.Requests),
	}
	n.near, n.apart = f.terms(object.Namespace, asked.Near, asked.Apart)
	n.spread = f.constraints(object, asked.Spread, n.nodes, asked.Rule)
	f.needs[key] = n
	if asksNothing(&object.Spec) {
		f.needs[none] = n
	}
	return n
}
