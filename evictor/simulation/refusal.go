package simulation

import (
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
	r := &Refusal{At: at, Pod: b.key, Why: c.unplaced(b.spec), Alone: make(map[string]int)}
	r.Why.Pods, r.Why.First = 1, b.key.String()
	minds := c.minds(b.spec, b.key.Namespace) // else no other pod keeps it from any node
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.deleted {
			continue
		}
		short, checks := c.room(n, b.spec), c.checks(n, b.spec)
		if minds && !c.among(n, b.spec, b.key.Namespace) {
			checks = append(checks, podAffinity)
		}
		switch {
		case len(checks) == 0:
			for _, resource := range short {
				r.Alone[resource]++
			}
		case len(checks) == 1 && len(short) == 0:
			r.Alone[checks[0]]++
		}
	}
	return r
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

// checks returns all that refuses a pod at a node but resources and other pods, each once.
func (c *cluster) checks(n *node, s *podSpec) (refusing []string) {
	refuses := func(check string, does bool) {
		if does && !slices.Contains(refusing, check) {
			refusing = append(refusing, check)
		}
	}
	for _, present := range [...][]v1.Taint{n.standing(), n.taints} {
		for i := range present {
			_, not := taints.Untolerated(present[i:i+1], s.Tolerations, false)
			refuses(becauseOf(present[i].Key), not)
		}
	}
	refuses(portTaken, !c.portsFree(n, s))
	refuses(volumeTaken, !c.mayUse(s))
	refuses(spreadApart, !spreadsTo(n, s))
	if s.needs != nil {
		refuses(selectors, !s.needs.nodes.selects(n))
		refuses(volumeAway, !s.needs.volumes.reach(n))
	}
	return refusing
}
