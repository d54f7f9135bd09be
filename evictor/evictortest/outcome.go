package evictortest

import (
	"maps"
	"slices"
	"strings"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/taints"
)

// Timeline returns what was written and how zones changed, in order, as lines of package timeline (JSON; t is in
// seconds since Epoch).
func (c *Cluster) Timeline() []string {
	c.t.Helper()
	c.begun()
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := make([]string, len(c.lines))
	for i := range c.lines {
		lines[i] = string(c.lines[i].AppendJSON(nil))
	}
	return lines
}

// Evicted returns the pods evicted so far, in order: as name, or namespace/name if the namespace is not default.
func (c *Cluster) Evicted() []string {
	c.t.Helper()
	return c.evicted(func(timeline.Line) bool { return true })
}

// EvictedFrom is Evicted for one node. The test fails if there never was a node of that name.
func (c *Cluster) EvictedFrom(node string) []string {
	c.t.Helper()
	c.exists(node)
	return c.evicted(func(l timeline.Line) bool { return l.Node == node })
}

func (c *Cluster) evicted(which func(timeline.Line) bool) []string {
	c.t.Helper()
	c.begun()
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []string
	for _, l := range c.lines {
		if l.Kind == timeline.KindEvict && which(l) {
			pods = append(pods, l.Pod)
		}
	}
	return pods
}

// exists fails the test unless there is or was such a node.
func (c *Cluster) exists(node string) {
	c.t.Helper()
	c.mu.Lock()
	known, all := c.known[node], slices.Sorted(maps.Keys(c.known))
	c.mu.Unlock()
	if !known {
		c.t.Fatalf("evictortest: there never was a node %q, only %s", node, strings.Join(all, ", "))
	}
}

// acts notes that something may act in the cluster.
func (c *Cluster) acts() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acted = true
}

// begun fails the test if nothing can have acted: what it asks for is empty whatever the code under test does.
func (c *Cluster) begun() {
	c.t.Helper()
	c.mu.Lock()
	acted := c.acted
	c.mu.Unlock()
	if !acted {
		c.t.Fatalf("evictortest: nothing acts in this cluster: call Start first")
	}
}

// Taints returns the taints of a node as key:effect, in order; nil if it was deleted. The test fails if there never was a
// node of that name.
func (c *Cluster) Taints(node string) (list []string) {
	c.t.Helper()
	c.exists(node)
	if n, ok := (*stores)(c).Node(node); ok {
		for i := range n.Spec.Taints {
			list = append(list, n.Spec.Taints[i].ToString())
		}
	}
	return list
}

// HasNoExecute reports whether the node has a not-ready or unreachable taint with effect NoExecute. The test fails if
// there never was a node of that name.
func (c *Cluster) HasNoExecute(node string) bool {
	c.t.Helper()
	c.exists(node)
	c.begun()
	n, ok := (*stores)(c).Node(node)
	for i := 0; ok && i < len(n.Spec.Taints); i++ {
		if taints.OwnNoExecute(&n.Spec.Taints[i]) {
			return true
		}
	}
	return false
}
