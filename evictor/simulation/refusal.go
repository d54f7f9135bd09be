package simulation

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
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
	u := c.filters.Why(&b.spec.Spec, b.key.Namespace)
	return &Refusal{At: at, Pod: b.key, Why: Unplaced{Pods: 1, First: b.key.String(), Nodes: u.Nodes, Because: u.Because}, Alone: u.Alone}
}

// reportUnplaced is why those are Pending that are at the end.
func (c *cluster) reportUnplaced() (all []Unplaced) {
	queues := c.waiting.queues()
	slices.SortStableFunc(queues, func(a, b *queue) int { return cmp.Compare(len(b.pods), len(a.pods)) })
	for _, q := range queues[:min(len(queues), mostUnplaced)] {
		u := c.refusedBy(c.Clock.Elapsed(), &q.pods[0]).Why
		u.Pods = len(q.pods)
		all = append(all, u)
	}
	return all
}
