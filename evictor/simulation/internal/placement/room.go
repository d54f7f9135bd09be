package placement

import (
	"cmp"
	"encoding/json"
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
func (f *Filters) resource(name v1.ResourceName) int {
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
	i, ok := f.resources[name]
	if !ok {
		i = extended + len(f.resources)
		f.resources[name] = i
	}
	return i
}

// mostOfOne limits what one pod requests, so that sums do not overflow.
const mostOfOne = 1 << 50

// amounts returns quantities by number of resource: thousandths of a CPU, bytes, or pieces.
func (f *Filters) amounts(list v1.ResourceList, absent, most int64) []int64 {
	amounts := []int64{absent, absent, absent, absent}
	for name, quantity := range list {
		i := f.resource(name)
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

// Room is what a node has for pods. Only nodes whose files state it have a room.
type Room struct {
	allocatable, used []int64         // by number of resource
	cpu, memory       int64           // as counted in the load
	Capacity, Shown   v1.ResourceList // as the node's object shows what it has in all, and for pods
}

// Amounts that a pod without requests for CPU or memory counts in a node's load, as in the scheduler.
const (
	usualCPU    = 100       // thousandths
	usualMemory = 200 << 20 // bytes
)

// UsualPods is how many pods a node of unknown room has room for.
const UsualPods = 110

// NewRoom returns the room that a node's status states; nil if it states none. A missing CPU, memory, ephemeral storage or
// number of pods is unlimited. A missing extended resource is 0.
func (f *Filters) NewRoom(status *v1.NodeStatus) *Room {
	list := status.Allocatable
	if len(list) == 0 {
		list = status.Capacity
	}
	if len(list) == 0 {
		return nil
	}
	return &Room{allocatable: f.amounts(list, math.MaxInt64, math.MaxInt64), Capacity: status.Capacity, Shown: list}
}

// Emptied returns the same room without pods.
func (r *Room) Emptied() *Room {
	if r == nil {
		return nil
	}
	return &Room{allocatable: r.allocatable, Capacity: r.Capacity, Shown: r.Shown}
}

// has returns how much of a resource there is for pods, and how much is used.
func (r *Room) has(resource int) (allocatable, used int64) {
	if resource < len(r.allocatable) {
		allocatable = r.allocatable[resource]
	}
	if resource < len(r.used) {
		used = r.used[resource]
	}
	return allocatable, used
}

// nothing is what pods without Needs require. They preempt nobody.
var nothing = &Needs{requests: []int64{podCount: 1}, preempts: math.MinInt32}

// needs returns what the pod requires.
func (s *Spec) needs() *Needs { return cmp.Or(s.Needs, nothing) }

// take counts a pod that was added (+1) or removed (-1).
func (r *Room) take(n *Needs, by int64) {
	requests := n.requests
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
func (r *Room) fits(n *Needs) bool { return r.short(n, 0) < 0 }

// short returns the first resource, from that number on, of which the node has too little for a pod; -1 if it has enough.
func (r *Room) short(n *Needs, from int) int {
	requests := n.requests
	for i := from; i < len(requests); i++ {
		if allocatable, used := r.has(i); requests[i] > 0 && requests[i] > allocatable-used {
			return i
		}
	}
	return -1
}

// load returns the mean of the used shares of CPU and of memory.
func (r *Room) load() float64 {
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
	text, _ := json.Marshal(value) // it cannot fail for these types
	return string(text)
}

// Labels is a set of labels that pods share; nil is empty.
type Labels labels.Set

// Set returns them for a selector.
func (l *Labels) Set() labels.Set {
	if l == nil {
		return nil
	}
	return labels.Set(*l)
}

// LabelsOf returns the shared form of an object's labels.
func (f *Filters) LabelsOf(meta *metav1.ObjectMeta) *Labels {
	if len(meta.Labels) == 0 {
		return nil
	}
	key := keyOf(meta.Labels)
	shared, ok := f.labelSets[key]
	if !ok {
		set := Labels(meta.Labels)
		shared = &set
		f.labelSets[key] = shared
	}
	return shared
}

// HadLabel says whether a pod has had a value for a label.
func (f *Filters) HadLabel(label string) bool {
	for _, set := range f.labelSets {
		if set.Set().Get(label) != "" {
			return true
		}
	}
	return false
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
