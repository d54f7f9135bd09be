package simulation

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/zone"
)

// SetCondition makes a live kubelet report a condition, now and from now on. A condition that is none of the kubelet's,
// such as an announcement of maintenance, is written at once by whoever it belongs to, even if the kubelet is not alive.
func (c *cluster) SetCondition(n *node, kind v1.NodeConditionType, status v1.ConditionStatus) {
	if n.failed {
		c.tellHappening(n.Name, fmt.Sprintf("someone writes %s=%s", kind, status))
		n.setKubelet(kind, status)
		c.writeCondition(n, kind, status)
		return
	}
	c.tellHappening(n.Name, fmt.Sprintf("the kubelet reports %s=%s", kind, status))
	n.setKubelet(kind, status)
	c.call(&c.kubelets.reports, c.nodeByID[n.Name], c.report)
}

// news says whether a condition says something new about the node. Of a silent one only others than its kubelet say something.
func (n *node) news(e *Condition) bool {
	if placement.FindCondition(healthy, e.Type) >= 0 {
		return !n.failed && (n.starting && e.Type == v1.NodeReady || n.kubeletStatus(e.Type) != e.Status)
	}
	if status, said := n.kubelet[e.Type]; said {
		return status != e.Status
	}
	at := placement.FindCondition(n.Conditions, e.Type)
	return at < 0 || n.Conditions[at].Status != e.Status
}

// SetTaint adds a taint, or replaces the one with the same key and effect.
func (c *cluster) SetTaint(n *node, taint v1.Taint) {
	if taint.Effect == v1.TaintEffectNoExecute && taint.TimeAdded == nil {
		added := stamp(c.now())
		taint.TimeAdded = &added
	}
	n.Taints = append(without(n.Taints, taint.Key, taint.Effect), taint)
	c.tellHappening(n.Name, "someone adds the taint "+taint.ToString())
	c.nodeChanged(n)
}

// RemoveTaint removes the taint with that key and effect, if it is there.
func (c *cluster) RemoveTaint(n *node, key string, effect v1.TaintEffect) {
	if effect == v1.TaintEffectNoExecute {
		c.overdue(n)
	}
	n.Taints = without(n.Taints, key, effect)
	c.tellHappening(n.Name, fmt.Sprintf("someone removes the taint %s:%s", key, effect))
	c.nodeChanged(n)
}

// Cordon sets or clears spec.unschedulable.
func (c *cluster) Cordon(n *node, unschedulable bool) {
	n.Unschedulable = unschedulable
	c.tellHappening(n.Name, map[bool]string{true: "the node is cordoned", false: "the node is uncordoned"}[unschedulable])
	c.nodeChanged(n)
}

// SetTolerations replaces a pod's tolerations.
func (c *cluster) SetTolerations(i int32, tolerations []v1.Toleration) {
	spec := *c.pods[i].spec
	spec.Tolerations = tolerations
	c.pods[i].spec = c.spec(spec)
	c.podChanged(i)
}

// SetPhase sets a pod's phase; a pod that ends is no longer Ready.
func (c *cluster) SetPhase(i int32, p v1.PodPhase) {
	c.pods[i].phase = phaseOf(p)
	c.pods[i].ready = c.pods[i].ready && !c.pods[i].phase.finished()
	if job, ok := c.controlledJob(i); ok && p == v1.PodSucceeded {
		c.jobController.Succeeded(job, c.Clock.Elapsed())
	}
	c.podChanged(i)
}

// relabel gives a node labels, and with them perhaps another zone.
func (p *player) relabel(n *node, labels map[string]string) {
	was := n.zone
	p.cluster.relabel(n, labels)
	if n.zone != was {
		p.remember()
	}
}

func (c *cluster) relabel(n *node, labels map[string]string) {
	n.Labels, n.zone = labels, zone.KeyOf(labels)
	c.filters.Relabelled()
	c.nodeChanged(n)
}

// SetPodLabels replaces a pod's labels, by which disruption budgets and the affinity of other pods know it.
func (c *cluster) SetPodLabels(i int32, labels map[string]string) {
	p := &c.pods[i]
	of := workloadKey{namespace: c.spaces[p.id.space]}
	if p.member != 0 {
		of = c.levels.members[p.member-1].workloadKey
	}
	spec, was := *p.spec, p.member
	spec.Labels = c.filters.LabelsOf(&metav1.ObjectMeta{Labels: maps.Clone(labels)})
	is := c.member(of.namespace, of.kind, of.name, spec.Labels)
	if c.counts(p) {
		c.leveled(was, -1, 0)
		c.leveled(is, 1, 0)
	}
	c.rebook(i, ofSpec, func(p *pod) { p.spec, p.member = c.spec(spec), is })
	c.podChanged(i)
}
