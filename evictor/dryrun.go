//go:build !thin

package evictor

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/taints"
)

// dryRun stands between the evictor and its clients. It writes nothing and shows nodes as the writes would have left
// them, so that the decisions that follow are made too. Which pods are evicted or marked the evictor remembers itself.
type dryRun struct {
	NodeStore
	changed func(node string) // NodeChanged
	clock   clock.PassiveClock

	mu    sync.Mutex // guards nodes; not held while the real store is read
	nodes map[string]*node.Shadow
}

func newDryRun(real NodeStore, changed func(node string), clk clock.PassiveClock) *dryRun {
	return &dryRun{NodeStore: real, changed: changed, clock: clk, nodes: make(map[string]*node.Shadow)}
}

// heard is called for each heartbeat that a lease brings.
func (d *dryRun) heard(node string) {
	d.mu.Lock()
	changed := d.nodes[node].Heard()
	d.mu.Unlock()
	if changed {
		d.changed(node)
	}
}

func (d *dryRun) Node(name string) (*v1.Node, bool) {
	node, ok := d.NodeStore.Node(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !ok {
		delete(d.nodes, name)
		return nil, false
	}
	return d.nodes[name].Over(node), true
}

func (d *dryRun) write(object *v1.Node, write func(*node.Shadow)) error {
	d.mu.Lock()
	shadow := d.nodes[object.Name]
	if shadow == nil {
		shadow = &node.Shadow{}
		d.nodes[object.Name] = shadow
	}
	write(shadow)
	d.mu.Unlock()
	d.changed(object.Name)
	return nil
}

func (d *dryRun) UpdateConditions(_ context.Context, object *v1.Node, conditions []v1.NodeCondition) error {
	return d.write(object, func(s *node.Shadow) { s.Conditions(object, conditions) })
}

func (d *dryRun) UpdateTaints(_ context.Context, object *v1.Node, change taints.Change) error {
	return d.write(object, func(s *node.Shadow) { s.Taints(object, change, d.clock.Now()) })
}

func (d *dryRun) UpdateLabels(_ context.Context, object *v1.Node, labels map[string]string) error {
	return d.write(object, func(s *node.Shadow) { s.Labels(object, labels) })
}

func (d *dryRun) Evict(context.Context, PodRef, Decision) error { return nil }

func (d *dryRun) MarkNotReady(context.Context, PodRef) error { return nil }
