package simulation

import (
	"cmp"
	"slices"
)

// whyNot is why a pod that found no node found none.
func (c *cluster) whyNot(b *comeback) *Unplaced {
	u := c.filters.Why(&b.spec.Spec, b.key.Namespace)
	return &Unplaced{Pods: 1, First: b.key.String(), Nodes: u.Nodes, Because: u.Because, Alone: u.Alone}
}

// reportUnplaced is why those are Pending that are at the end.
func (c *cluster) reportUnplaced() (all []Unplaced) {
	queues := c.waiting.queues()
	slices.SortStableFunc(queues, func(a, b *queue) int { return cmp.Compare(len(b.pods), len(a.pods)) })
	for _, q := range queues[:min(len(queues), mostUnplaced)] {
		u := c.whyNot(&q.pods[0])
		u.Pods, u.Alone = len(q.pods), nil
		all = append(all, *u)
	}
	return all
}
