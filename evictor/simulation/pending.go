package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// MostUnplaced is the largest number of Unplaced in a report: those with the most pods.
const MostUnplaced = 20

// Unplaced says why pods with equal requirements found no node.
type Unplaced struct {
	Pods  int
	First string // namespace/name of the pod that has waited longest, or of the pod that it is to replace
	Nodes int    // in the cluster; none of them accepts the pods
	// Because counts nodes by the check that refused the pods: cordoned, "not Ready", taint, selector, "host port", a resource by its
	// name, "volume in use", volume, "topology spread" or "pod affinity". As in the scheduler, a node counts for the first
	// of these that refuses; for each resource that it lacks.
	Because map[string]int
}

// What refuses a pod beside resources, in the scheduler's order; resources come before volumes.
const (
	cordoned    = "cordoned"
	notReady    = "not Ready"
	taintThere  = "taint"
	selectors   = "selector"
	portTaken   = "host port"
	volumeTaken = "volume in use"
	volumeAway  = "volume"
	spreadApart = "topology spread"
	podAffinity = "pod affinity"
)

// String returns a short form such as "0/12 nodes: 8 taint, 4 cpu", with the largest counts first.
func (u *Unplaced) String() string {
	checks := slices.SortedFunc(maps.Keys(u.Because), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.Because[b], u.Because[a]), cmp.Compare(a, b))
	})
	text := &strings.Builder{}
	fmt.Fprintf(text, "0/%d nodes", u.Nodes)
	for i, check := range checks {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		fmt.Fprintf(text, "%s%d %s", separator, u.Because[check], check)
	}
	return text.String()
}

// unplaced says why a pod that found no node found none.
func (c *cluster) unplaced(s *podSpec) Unplaced {
	u := Unplaced{Because: make(map[string]int)}
	c.recount()
	names := make(map[int]string) // of resources
	for name, i := range c.resources {
		names[i] = string(name)
	}
	for i, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, v1.ResourcePods} {
		names[i] = string(name)
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.deleted {
			continue
		}
		u.Nodes++
		if why := c.load.closed(n, s); why != "" {
			u.Because[why]++
			continue
		}
		if !c.portsFree(n, s) {
			u.Because[portTaken]++
			continue
		}
		if n.room == nil || n.room.fits(s.needs) {
			u.Because[c.repels(n, s)]++
			continue
		}
		for i := n.room.short(s.needs, 0); i >= 0; i = n.room.short(s.needs, i+1) {
			u.Because[names[i]]++
		}
	}
	return u
}

// repels is why a node that is open to a pod and has room for it does not take it.
func (c *cluster) repels(n *node, s *podSpec) string {
	switch {
	case !c.mayUse(s):
		return volumeTaken
	case s.needs != nil && !s.needs.volumes.reach(n):
		return volumeAway
	case !spreadsTo(n, s):
		return spreadApart
	}
	return podAffinity // what else there is
}

// closed is why the rules of a node do not let a pod in, however much room there is; empty: they do.
func (l *loadIndex) closed(n *node, s *podSpec) string {
	for _, present := range [...][]v1.Taint{n.standing(), n.taints} {
		if taint, not := taints.Untolerated(present, s.Tolerations, false); not {
			return becauseOf(taint.Key)
		}
	}
	if s.needs != nil && !s.needs.nodes.selects(n) {
		return selectors
	}
	return ""
}

func becauseOf(taint string) string {
	switch taint {
	case v1.TaintNodeUnschedulable:
		return cordoned
	case v1.TaintNodeNotReady, v1.TaintNodeUnreachable:
		return notReady
	default:
		return taintThere
	}
}

// reportUnplaced is why those are Pending that are at the end.
func (c *cluster) reportUnplaced() (all []Unplaced) {
	queues := c.waiting.queues()
	slices.SortStableFunc(queues, func(a, b *queue) int { return cmp.Compare(len(b.pods), len(a.pods)) })
	for _, q := range queues[:min(len(queues), MostUnplaced)] {
		first := &q.pods[0]
		u := c.unplaced(first.spec)
		u.Pods, u.First = len(q.pods), first.key.String()
		all = append(all, u)
	}
	return all
}
