package evictortest

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/taints"
)

// Clients returns the cluster as clients for an evictor, including a Source that feeds it and, if
// it is a leases.Judge, reads leases for it.
func (c *Cluster) Clients() evictor.Clients {
	c.acts()
	return evictor.Clients{Nodes: (*stores)(c), Pods: (*stores)(c), NodeWriter: (*writers)(c), PodWriter: (*writers)(c), Source: source{c.api.Source, c}}
}

// stores and writers are the cluster's client interfaces.
type (
	stores  Cluster
	writers Cluster
)

func (s *stores) Synced() bool { return true }

func (s *stores) Node(name string) (*v1.Node, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.api.Nodes.Node(name)
}

func (s *stores) Nodes(visit func(*v1.Node) bool) {
	s.mu.Lock()
	nodes := slices.Collect(s.api.Nodes.Nodes)
	s.mu.Unlock()
	slices.Values(nodes)(visit)
}

func (s *stores) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.api.Pods.Pod(key)
}

// PodsOnNode visits the pods by name.
func (s *stores) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.mu.Lock()
	var keys []evictor.PodKey
	s.api.Pods.PodsOnNode(node, func(p *v1.Pod) bool {
		keys = append(keys, evictor.PodKey{Namespace: p.Namespace, Name: p.Name})
		return true
	})
	slices.SortFunc(keys, func(a, b evictor.PodKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	pods := make([]*v1.Pod, len(keys))
	for i, key := range keys {
		pods[i], _ = s.api.Pods.Pod(key)
	}
	s.mu.Unlock()
	slices.Values(pods)(visit)
}

// readLease reads a node's lease live.
func (c *Cluster) readLease(ctx context.Context, node string) (leases.Lease, error) {
	c.mu.Lock()
	latency := c.latency
	c.mu.Unlock()
	c.wait(latency)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmp.Or(c.unread, c.down); err != nil {
		return leases.Lease{}, err
	}
	return c.world.ReadLease(ctx, node)
}

func (w *writers) write(kind, object string, write func() error) error {
	c := (*Cluster)(w)
	if err := c.before(kind, object); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return write()
}

func (w *writers) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	return w.write("conditions", node.Name, func() error { return w.api.NodeWriter.UpdateConditions(ctx, node, conditions) })
}

func (w *writers) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	return w.write("taints", node.Name, func() error { return w.api.NodeWriter.UpdateTaints(ctx, node, change) })
}

func (w *writers) UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error {
	return w.write("labels", node.Name, func() error { return w.api.NodeWriter.UpdateLabels(ctx, node, labels) })
}

func (w *writers) Evict(ctx context.Context, pod evictor.PodRef, why taints.Deadline) error {
	return w.write("evict", pod.PodKey.String(), func() error { return w.api.PodWriter.Evict(ctx, pod, why) })
}

func (w *writers) MarkNotReady(ctx context.Context, pod evictor.PodRef) error {
	return w.write("podStatus", pod.PodKey.String(), func() error { return w.api.PodWriter.MarkNotReady(ctx, pod) })
}

// before returns the error that a write should fail with. c.mu is not held.
func (c *Cluster) before(write, object string) error {
	c.mu.Lock()
	faults, down, latency := c.faults, c.down, c.latency
	c.mu.Unlock()
	c.wait(latency)
	if down != nil {
		return down
	}
	for _, fault := range faults {
		if err := fault(write, object); err != nil {
			return err
		}
	}
	return nil
}

// wait lets a call take that long. c.mu is not held.
func (c *Cluster) wait(latency time.Duration) {
	if latency > 0 {
		for until := c.elapsed() + latency; c.turns(until) < until; { // a report ends a turn
		}
	}
}
