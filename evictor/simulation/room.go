package simulation

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

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

// warnOfRoom notes that a node whose room is not known had more pods than a kubelet takes.
func (p *player) warnOfRoom() {
	if s := &p.cluster.stats; s.fullest > usualPods {
		p.report.Warnings = append(p.report.Warnings, fmt.Sprintf(
			"node %s had %d pods, because it states no capacity: a kubelet takes %d unless its maxPods says otherwise, as capacity: {pods: %d} plays", s.fullestNode, s.fullest, usualPods, usualPods))
	}
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

func keyOfTolerations(tolerations []v1.Toleration) string {
	key := ""
	for i := range tolerations {
		t := &tolerations[i]
		seconds := "-"
		if t.TolerationSeconds != nil {
			seconds = strconv.FormatInt(*t.TolerationSeconds, 10)
		}
		key += "|" + t.Key + "\x00" + string(t.Operator) + "\x00" + t.Value + "\x00" + string(t.Effect) + "\x00" + seconds
	}
	return key
}
