package simulation

import (
	"encoding/json"
	"math"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// needs is what a pod requires of its node, apart from tolerations, as stated in a file. Pods share it, and it does not
// change. nil requires nothing.
type needs struct {
	requests    []int64 // by number of resource; missing ones are 0
	nodes       *nodeRule
	near, apart []*tally // required pod affinity (one pod must match all terms) and anti-affinity
	spread      []constraint
	ports       []hostPort
	volumes     *volumeRule // where they are
	alone       []podID     // claims that no other pod may use at the same time
	attached    bool        // a volume cannot be attached to two nodes
	priority    int32
	preempts    int32          // pods of a lower priority than this
	rule        string         // equal for equal node rules and extended resources
	shown       []v1.Container // as pods' objects show the requests: one container; nil if there are none
}

// Numbers of the resources that every node has. Extended resources are numbered as they appear.
const (
	cpu = iota
	memory
	ephemeral
	podCount
	extended
)

// resource returns the number of a resource.
func (c *cluster) resource(name v1.ResourceName) int {
	switch name {
	case v1.ResourceCPU:
		return cpu
	case v1.ResourceMemory:
		return memory
	case v1.ResourceEphemeralStorage:
		return ephemeral
	case v1.ResourcePods:
		return podCount
	}
	i, ok := c.resources[name]
	if !ok {
		i = extended + len(c.resources)
		c.resources[name] = i
	}
	return i
}

// mostOfOne limits what one pod requests, so that sums do not overflow.
const mostOfOne = 1 << 50

// amounts returns quantities by number of resource: thousandths of a CPU, bytes, or pieces.
func (c *cluster) amounts(list v1.ResourceList, absent, most int64) []int64 {
	amounts := []int64{absent, absent, absent, absent}
	for name, quantity := range list {
		i := c.resource(name)
		for len(amounts) <= i {
			amounts = append(amounts, 0)
		}
		value := quantity.Value()
		if i == cpu {
			value = quantity.MilliValue()
		}
		amounts[i] = min(max(value, 0), most)
	}
	return amounts
}

// requests returns what the scheduler counts for a pod: its overhead, plus the larger of two amounts: the sum over its
// containers, or the most that an init container needs together with the sidecars before it.
func (c *cluster) requests(spec *v1.PodSpec) []int64 {
	of := func(list v1.ResourceList) []int64 { return c.amounts(list, 0, mostOfOne) }
	var sum, sidecars, most []int64
	for i := range spec.Containers {
		sum = plus(sum, of(spec.Containers[i].Resources.Requests))
	}
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		asked := of(container.Resources.Requests)
		if sidecar(container) {
			sidecars = plus(sidecars, asked)
			asked = sidecars
		} else {
			asked = plus(asked, sidecars)
		}
		most = larger(most, asked)
	}
	sum = larger(plus(sum, sidecars), most)
	whole := podResources(spec)
	for name := range whole {
		i := c.resource(name)
		sum = plus(sum, make([]int64, i+1))
		sum[i] = of(whole)[i]
	}
	sum = plus(sum, of(spec.Overhead))
	sum[podCount] = 1
	return sum
}

// plus returns a new list.
func plus(a, b []int64) []int64 { return combine(a, b, func(x, y int64) int64 { return x + y }) }

func larger(a, b []int64) []int64 { return combine(a, b, func(x, y int64) int64 { return max(x, y) }) }

func combine(a, b []int64, of func(x, y int64) int64) []int64 {
	sum := make([]int64, max(len(a), len(b)))
	copy(sum, a)
	for i := range b {
		sum[i] = of(sum[i], b[i])
	}
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
		!someLater(s, "PreemptionPolicy") && podResources(s) == nil
}

// needsOf returns the shared form of what a pod requires of its node.
func (c *cluster) needsOf(object *v1.Pod) *needs {
	const nothing = "" // its key
	if shared, ok := c.needs[nothing]; ok && asksNothing(&object.Spec) {
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
	}{Requests: c.requests(&object.Spec), Ports: hostPorts(&object.Spec)}
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
	if shared, ok := c.needs[key]; ok {
		return shared
	}
	n := &needs{
		requests: asked.Requests, rule: asked.Rule, nodes: newNodeRule(rule.Selector, rule.Affinity, rule.Extended),
		ports: asked.Ports, priority: asked.Priority, preempts: asked.Preempts, shown: c.shown(asked.Requests),
	}
	n.near, n.apart = c.terms(object.Namespace, asked.Near, asked.Apart)
	n.spread = c.constraints(object, asked.Spread, n.nodes, asked.Rule)
	c.needs[key] = n
	if asksNothing(&object.Spec) {
		c.needs[nothing] = n
	}
	return n
}

// keyOf returns a text that is equal for equal values.
func keyOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error() // impossible for these types
	}
	return string(text)
}

// labelSet is a set of labels that pods share; nil is empty.
type labelSet labels.Set

func (l *labelSet) set() labels.Set {
	if l == nil {
		return nil
	}
	return labels.Set(*l)
}

func (c *cluster) labelsOf(meta *metav1.ObjectMeta) *labelSet {
	if len(meta.Labels) == 0 {
		return nil
	}
	key := keyOf(meta.Labels)
	shared, ok := c.labelSets[key]
	if !ok {
		set := labelSet(meta.Labels)
		shared = &set
		c.labelSets[key] = shared
	}
	return shared
}

// room is what a node has for pods. Only nodes whose files state it have a room.
type room struct {
	allocatable, used []int64         // by number of resource
	cpu, memory       int64           // as counted in the load
	capacity, shown   v1.ResourceList // as the node's object shows what it has in all, and for pods
}

// Amounts that a pod without requests for CPU or memory counts in a node's load, as in the scheduler.
const (
	usualCPU    = 100       // thousandths
	usualMemory = 200 << 20 // bytes
	usualPods   = 110       // how many pods an unknown node has room for
)

// newRoom returns the room that a node's status states; nil if it states none. A missing CPU, memory, ephemeral storage or
// number of pods is unlimited. A missing extended resource is 0.
func (c *cluster) newRoom(status *v1.NodeStatus) *room {
	list := status.Allocatable
	if len(list) == 0 {
		list = status.Capacity
	}
	if len(list) == 0 {
		return nil
	}
	return &room{allocatable: c.amounts(list, math.MaxInt64, math.MaxInt64), capacity: status.Capacity, shown: list}
}

// emptied returns the same room without pods.
func (r *room) emptied() *room {
	if r == nil {
		return nil
	}
	return &room{allocatable: r.allocatable, capacity: r.capacity, shown: r.shown}
}

// has returns how much of a resource there is for pods, and how much is used.
func (r *room) has(resource int) (allocatable, used int64) {
	if resource < len(r.allocatable) {
		allocatable = r.allocatable[resource]
	}
	if resource < len(r.used) {
		used = r.used[resource]
	}
	return allocatable, used
}

var onePod = []int64{podCount: 1}

// take counts a pod that was added (+1) or removed (-1).
func (r *room) take(n *needs, by int64) {
	requests := onePod
	if n != nil {
		requests = n.requests
	}
	for len(r.used) < len(requests) {
		r.used = append(r.used, 0)
	}
	for i, amount := range requests {
		r.used[i] += by * amount
	}
	orUsual := func(i int, usual int64) int64 {
		if requests[i] > 0 {
			return requests[i]
		}
		return usual
	}
	r.cpu += by * orUsual(cpu, usualCPU)
	r.memory += by * orUsual(memory, usualMemory)
}

// fits reports whether the node has enough free resources for a pod.
func (r *room) fits(n *needs) bool { return r.short(n, 0) < 0 }

// short returns the first resource, from that number on, of which the node has too little for a pod; -1 if it has enough.
func (r *room) short(n *needs, from int) int {
	requests := onePod
	if n != nil {
		requests = n.requests
	}
	for i := from; i < len(requests); i++ {
		if allocatable, used := r.has(i); requests[i] > 0 && requests[i] > allocatable-used {
			return i
		}
	}
	return -1
}

// load returns the mean of the used shares of CPU and of memory.
func (r *room) load() float64 {
	share := func(used int64, resource int) float64 {
		switch allocatable, _ := r.has(resource); {
		case allocatable == math.MaxInt64:
			return 0
		case allocatable == 0:
			return 1
		default:
			return float64(used) / float64(allocatable)
		}
	}
	return (share(r.cpu, cpu) + share(r.memory, memory)) / 2
}
