package simulation

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/taints"
)

// Refusal is a pod that found no node when it could come back.
type Refusal struct {
	At  time.Duration
	Pod evictor.PodKey // the one to be replaced
	// Why is what refused it at each node. Its Pods is 1. Refusals within a second share it, so it must not be changed.
	Why Unplaced
	// Alone counts the nodes that refuse the pod by a single check, by the names of Unplaced.Because: without that check
	// the pod could go there. It is shared like Why.
	Alone map[string]int
}

// refusedBy is why a pod that found no node found none.
func (c *cluster) refusedBy(at time.Duration, b *comeback) *Refusal {
	c.recount()
	r := &Refusal{At: at, Pod: b.key, Why: Unplaced{Pods: 1, First: b.key.String(), Because: make(map[string]int)}, Alone: make(map[string]int)}
	minds := c.minds(b.spec, b.key.Namespace) // else no other pod keeps it from any node
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.deleted {
			continue
		}
		r.Why.Nodes++
		checks := c.checks(n, b.spec)
		if minds && !c.among(n, b.spec, b.key.Namespace) {
			checks = append(checks, []string{podAffinity})
		}
		if len(checks) == 0 { // what else there is
			r.Why.Because[podAffinity]++
			continue
		}
		countNodes(r.Why.Because, checks[0])
		if len(checks) == 1 {
			countNodes(r.Alone, checks[0])
		}
	}
	return r
}

func countNodes(nodes map[string]int, check []string) {
	for _, name := range check {
		nodes[name]++
	}
}

// room returns the resources of which a node has too little for a pod.
func (c *cluster) room(n *node, s *podSpec) (short []string) {
	if n.room == nil {
		return nil
	}
	for i := n.room.short(s.needs, 0); i >= 0; i = n.room.short(s.needs, i+1) {
		short = append(short, c.resourceName(i))
	}
	return short
}

func (c *cluster) resourceName(number int) string {
	if number < extended {
		return string([...]v1.ResourceName{cpu: v1.ResourceCPU, memory: v1.ResourceMemory, ephemeral: v1.ResourceEphemeralStorage, podCount: v1.ResourcePods}[number])
	}
	for name, i := range c.resources {
		if i == number {
			return string(name)
		}
	}
	return "" // impossible: a pod asks for it
}

// checks returns all that refuses a pod at a node but other pods, each once, in the scheduler's order: the name of the check, or
// those of all resources of which there is too little.
func (c *cluster) checks(n *node, s *podSpec) (refusing [][]string) {
	refuses := func(does bool, name string) {
		if does && !slices.ContainsFunc(refusing, func(check []string) bool { return check[0] == name }) {
			refusing = append(refusing, []string{name})
		}
	}
	for _, present := range [...][]v1.Taint{n.standing(), n.taints} {
		for i := range present {
			_, not := taints.Untolerated(present[i:i+1], s.Tolerations, false)
			refuses(not, becauseOf(present[i].Key))
		}
	}
	refuses(s.needs != nil && !s.needs.nodes.selects(n), selectors)
	refuses(!c.portsFree(n, s), portTaken)
	if short := c.room(n, s); len(short) > 0 {
		refusing = append(refusing, short)
	}
	refuses(!c.mayUse(s), volumeTaken)
	refuses(s.needs != nil && !s.needs.volumes.reach(n), volumeAway)
	refuses(!spreadsTo(n, s), spreadApart)
	return refusing
}

// reportUnplaced is why those are Pending that are at the end.
func (c *cluster) reportUnplaced() (all []Unplaced) {
	queues := c.waiting.queues()
	slices.SortStableFunc(queues, func(a, b *queue) int { return cmp.Compare(len(b.pods), len(a.pods)) })
	for _, q := range queues[:min(len(queues), MostUnplaced)] {
		u := c.refusedBy(c.Clock.Elapsed(), &q.pods[0]).Why
		u.Pods = len(q.pods)
		all = append(all, u)
	}
	return all
}
