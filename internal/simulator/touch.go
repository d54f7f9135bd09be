package simulator

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// SetCondition makes a live kubelet report a condition, now and from now on.
func (c *Cluster) SetCondition(name string, kind v1.NodeConditionType, status v1.ConditionStatus) bool {
	i, ok := c.nodeByID[name]
	if !ok || c.nodes[i].failed {
		return false
	}
	n := &c.nodes[i]
	c.tellHappening(n.name, fmt.Sprintf("the kubelet reports %s=%s", kind, status))
	n.setKubelet(kind, status)
	c.call(&c.kubelets.reports, i, c.report)
	return true
}

// SetTaint adds a taint, or replaces the one with the same key and effect.
func (c *Cluster) SetTaint(name string, taint v1.Taint) bool {
	i, ok := c.nodeByID[name]
	if !ok {
		return false
	}
	n := &c.nodes[i]
	if taint.Effect == v1.TaintEffectNoExecute && taint.TimeAdded == nil {
		added := stamp(c.now())
		taint.TimeAdded = &added
	}
	n.taints = append(without(n.taints, taint.Key, taint.Effect), taint)
	c.tellHappening(n.name, "someone adds the taint "+taint.ToString())
	c.nodeChanged(n)
	return true
}

// RemoveTaint removes the taint with that key and effect, if it is there.
func (c *Cluster) RemoveTaint(name, key string, effect v1.TaintEffect) bool {
	i, ok := c.nodeByID[name]
	if !ok {
		return false
	}
	n := &c.nodes[i]
	if effect == v1.TaintEffectNoExecute {
		c.overdue(n)
	}
	n.taints = without(n.taints, key, effect)
	c.tellHappening(n.name, fmt.Sprintf("someone removes the taint %s:%s", key, effect))
	c.nodeChanged(n)
	return true
}

func without(taints []v1.Taint, key string, effect v1.TaintEffect) []v1.Taint {
	var kept []v1.Taint
	for _, t := range taints {
		if t.Key != key || t.Effect != effect {
			kept = append(kept, t)
		}
	}
	return kept
}

// Cordon sets or clears spec.unschedulable.
func (c *Cluster) Cordon(name string, unschedulable bool) bool {
	i, ok := c.nodeByID[name]
	if !ok {
		return false
	}
	c.nodes[i].unschedulable = unschedulable
	c.tellHappening(name, map[bool]string{true: "the node is cordoned", false: "the node is uncordoned"}[unschedulable])
	c.nodeChanged(&c.nodes[i])
	return true
}

// SetTolerations replaces a pod's tolerations.
func (c *Cluster) SetTolerations(key evictor.PodKey, tolerations []v1.Toleration) bool {
	i, ok := c.findPod(key)
	if !ok {
		return false
	}
	spec := *c.pods[i].spec
	spec.Tolerations = tolerations
	c.pods[i].spec = c.spec(spec)
	c.podChanged(c.podIndex.Key(i))
	return true
}

// SetPhase sets a pod's phase; a pod that ends is no longer Ready.
func (c *Cluster) SetPhase(key evictor.PodKey, p v1.PodPhase) bool {
	i, ok := c.findPod(key)
	if !ok {
		return false
	}
	c.healthy(&c.pods[i], -1)
	c.counted(&c.pods[i], -1)
	c.occupies(i, -1)
	c.pods[i].phase = phaseOf(p)
	c.pods[i].ready = c.pods[i].ready && !c.pods[i].phase.finished()
	c.healthy(&c.pods[i], 1)
	c.counted(&c.pods[i], 1)
	c.occupies(i, 1)
	c.podChanged(c.podIndex.Key(i))
	return true
}

// SetZone moves a node to another zone, by its labels.
func (c *Cluster) SetZone(name string, key zone.Key) bool {
	i, ok := c.nodeByID[name]
	if !ok {
		return false
	}
	n := &c.nodes[i]
	c.moves(n, -1)
	n.labels, n.zone = zoneLabels(key), key
	c.moves(n, 1)
	c.relabelled()
	c.nodeChanged(n)
	return true
}

// SetReady makes the kubelet of a pod report whether the pod is Ready.
func (c *Cluster) SetReady(key evictor.PodKey, ready bool) bool {
	i, ok := c.findPod(key)
	if !ok {
		return false
	}
	c.setReady(i, ready)
	return true
}
