package simulation

import (
	"maps"
	"slices"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// collected is the cluster as the pod garbage collector sees it.
type collected struct{ *player }

func (p collected) Garbage() bool { return len(p.cluster.outOfService)+len(p.cluster.orphans) > 0 }

func (p collected) OutOfService() (names []string) {
	for _, i := range slices.Sorted(maps.Keys(p.cluster.outOfService)) {
		if n := &p.cluster.nodes[i]; !n.IsReady() {
			names = append(names, n.Name)
		}
	}
	return names
}

func (p collected) Missed() []string { return slices.Collect(maps.Keys(p.cluster.orphans)) }

func (p collected) Pods(node string) []evictor.PodKey { return p.cluster.SortedPods(node) }

func (p collected) Terminating(pod evictor.PodKey) bool {
	i, ok := p.cluster.findPod(pod)
	return ok && p.cluster.pods[i].terminating
}

func (p collected) Remove(pod evictor.PodKey, why string) {
	c := p.cluster
	i, ok := c.findPod(pod)
	if !ok {
		return
	}
	n := &c.nodes[c.pods[i].node]
	if s := c.pods[i].spec; s.OwnerKind != "DaemonSet" && !s.Mirror {
		p.report.Removed++
	}
	c.diesWithNode(&c.pods[i])
	p.line(timeline.Line{T: c.Clock.Elapsed(), Kind: timeline.KindRemove, Node: n.Name, Pod: joinPodName(pod.Namespace, pod.Name), More: because(why)})
	c.takeAway(i)
}
