package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// What refuses a pod beside resources, in the scheduler's order; resources come before volumes.
const (
	Cordoned    = "cordoned"
	NotReady    = "not Ready"
	TaintThere  = "taint"
	Selectors   = "selector"
	PortTaken   = "host port"
	VolumeTaken = "volume in use"
	VolumeAway  = "volume"
	SpreadApart = "topology spread"
	PodAffinity = "pod affinity"
)

func becauseOf(taint string) string {
	switch taint {
	case v1.TaintNodeUnschedulable:
		return Cordoned
	case v1.TaintNodeNotReady, v1.TaintNodeUnreachable:
		return NotReady
	default:
		return TaintThere
	}
}

// Unschedulable is why a pod finds no node.
type Unschedulable struct {
	Nodes int // that there are
	// Because counts nodes by the first check that refuses the pod, or by each resource that they lack; Alone those that refuse it by
	// that check alone.
	Because, Alone map[string]int
}

// Why says why a pod finds no node.
func (f *Filters) Why(s *Spec, namespace string) Unschedulable {
	f.Recount()
	u := Unschedulable{Because: make(map[string]int), Alone: make(map[string]int)}
	minds := f.minds(s, namespace) // else no other pod keeps it from any node
	for _, n := range f.nodes {
		if n.Deleted {
			continue
		}
		u.Nodes++
		checks := f.checks(n, s)
		if minds && !f.among(n, s, namespace) {
			checks = append(checks, []string{PodAffinity})
		}
		if len(checks) == 0 { // what else there is
			u.Because[PodAffinity]++
			continue
		}
		countNodes(u.Because, checks[0])
		if len(checks) == 1 {
			countNodes(u.Alone, checks[0])
		}
	}
	return u
}

func countNodes(nodes map[string]int, check []string) {
	for _, name := range check {
		nodes[name]++
	}
}

// short returns the resources of which a node has too little for a pod.
func (f *Filters) short(n *NodeInfo, s *Spec) (short []string) {
	if n.Room == nil {
		return nil
	}
	for i := n.Room.short(s.needs(), 0); i >= 0; i = n.Room.short(s.needs(), i+1) {
		short = append(short, f.resourceName(i))
	}
	return short
}

func (f *Filters) resourceName(number int) string {
	if number < extended {
		return string([...]v1.ResourceName{cpu: v1.ResourceCPU, memory: v1.ResourceMemory, ephemeral: v1.ResourceEphemeralStorage, podCount: v1.ResourcePods}[number])
	}
	for name, i := range f.resources {
		if i == number {
			return string(name)
		}
	}
	return "" // impossible: a pod asks for it
}

// checks returns all that refuses a pod at a node but other pods, each once, in the scheduler's order: the name of the check, or
// those of all resources of which there is too little.
func (f *Filters) checks(n *NodeInfo, s *Spec) (refusing [][]string) {
	refuses := func(does bool, name string) {
		if does && !slices.ContainsFunc(refusing, func(check []string) bool { return check[0] == name }) {
			refusing = append(refusing, []string{name})
		}
	}
	for _, present := range [...][]v1.Taint{n.Standing(), n.Taints} {
		for i := range present {
			_, not := taints.Untolerated(present[i:i+1], s.Tolerations, false)
			refuses(not, becauseOf(present[i].Key))
		}
	}
	refuses(!s.needs().nodes.selects(n), Selectors)
	refuses(!n.portsFree(s), PortTaken)
	if short := f.short(n, s); len(short) > 0 {
		refusing = append(refusing, short)
	}
	refuses(!f.mayUse(s), VolumeTaken)
	refuses(!s.needs().volumes.reach(n), VolumeAway)
	refuses(!spreadsTo(n, s), SpreadApart)
	return refusing
}
