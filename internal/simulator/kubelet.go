package simulator

import (
	"math/bits"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// fifo holds the next heartbeat of each kubelet in order of time. All of them share one period, so whoever has just
// had its turn comes last, and no heap is needed; only in the first round, which is longer, may one that starts overtake others.
type fifo struct {
	period int64
	ring   []turn
	head   int
	length int
}

type turn struct {
	at    int64
	node  int32
	epoch uint32
}

func (f *fifo) push(t turn) {
	if t.at < 0 {
		return // after the end of time
	}
	if f.length == len(f.ring) {
		grown := make([]turn, max(16, 2*len(f.ring)))
		for i := range f.length {
			grown[i] = f.ring[(f.head+i)%len(f.ring)]
		}
		f.ring, f.head = grown, 0
	}
	at := (f.head + f.length) % len(f.ring)
	for range f.length {
		before := (at + len(f.ring) - 1) % len(f.ring)
		if f.ring[before].at <= t.at {
			break
		}
		f.ring[at], at = f.ring[before], before
	}
	f.ring[at] = t
	f.length++
}

func (f *fifo) pop() turn {
	t := f.ring[f.head]
	if f.head++; f.head == len(f.ring) {
		f.head = 0
	}
	f.length--
	return t
}

// next is when the next turn is; false when there is none.
func (f *fifo) next() (int64, bool) {
	if f.length == 0 {
		return 0, false
	}
	return f.ring[f.head].at, true
}

// StartKubelets begins the rounds of all kubelets that are alive: renewals every interval, spread evenly
// over it in the order in which the nodes were added or all at once, and reports every statusInterval.
func (c *Cluster) StartKubelets(interval, statusInterval time.Duration, even bool) {
	c.renewals.period, c.reports.period = int64(interval), int64(statusInterval)
	now, n := c.now(), int64(len(c.nodes))
	for i := range c.nodes {
		if c.nodes[i].failed || c.nodes[i].deleted {
			continue
		}
		phase := int64(0)
		if even {
			high, low := bits.Mul64(uint64(i), uint64(interval))
			whole, _ := bits.Div64(high, low, uint64(n))
			phase = int64(whole)
		}
		c.renewals.push(turn{now + phase + int64(interval), int32(i), c.nodes[i].epoch})
		c.reports.push(turn{now + int64(statusInterval), int32(i), c.nodes[i].epoch})
	}
}

// StartKubelet begins the rounds of a node that was added after StartKubelets.
func (c *Cluster) StartKubelet(name string) {
	if i, ok := c.nodeByID[name]; ok {
		c.startKubelet(i)
	}
}

// startKubelet begins the rounds of one kubelet now, with a renewal and a report at once.
func (c *Cluster) startKubelet(i int32) {
	n := &c.nodes[i]
	n.epoch++
	c.renew(n)
	c.report(n)
	now := c.now()
	c.renewals.push(turn{now + c.renewals.period, i, n.epoch})
	c.reports.push(turn{now + c.reports.period, i, n.epoch})
}

// NextRenewal and NextReport are when a kubelet next has its turn.
func (c *Cluster) NextRenewal() (time.Duration, bool) {
	at, ok := c.renewals.next()
	return time.Duration(at), ok
}

// NextReport is NextRenewal for status reports.
func (c *Cluster) NextReport() (time.Duration, bool) {
	at, ok := c.reports.next()
	return time.Duration(at), ok
}

// Renew lets one kubelet renew whose turn it is; one that failed or is gone has none any more.
func (c *Cluster) Renew() {
	t := c.renewals.pop()
	n := &c.nodes[t.node]
	if n.epoch != t.epoch || n.failed {
		return
	}
	c.renew(n)
	t.at += c.renewals.period
	c.renewals.push(t)
}

// Report lets one kubelet report.
func (c *Cluster) Report() {
	t := c.reports.pop()
	n := &c.nodes[t.node]
	if n.epoch != t.epoch || n.failed {
		return
	}
	c.report(n)
	t.at += c.reports.period
	c.reports.push(t)
}

func (c *Cluster) renew(n *node) {
	n.renewed = c.now()
	if c.Renewed != nil {
		c.Renewed(n.name, c.Clock.Now())
	}
}

// report writes the node's conditions as the kubelet sees them. Where nothing but the heartbeat
// changes, the conditions stay shared.
func (c *Cluster) report(n *node) {
	now := c.now()
	n.reported = now
	conditions := n.conditions
	copied := false
	for i := range conditions {
		want := n.kubeletStatus(conditions[i].Type)
		if conditions[i].Status == want {
			continue
		}
		if !copied {
			conditions, copied = append([]v1.NodeCondition(nil), conditions...), true
		}
		conditions[i].Status, conditions[i].LastTransitionTime = want, stamp(now)
		conditions[i].Reason, conditions[i].Message = "KubeletReport", ""
	}
	for kind, status := range n.kubelet {
		if findCondition(conditions, kind) < 0 {
			if !copied {
				conditions, copied = append([]v1.NodeCondition(nil), conditions...), true
			}
			conditions = append(conditions, v1.NodeCondition{Type: kind, Status: status, Reason: "KubeletReport", LastTransitionTime: stamp(now)})
		}
	}
	n.conditions = conditions
	c.nodeChanged(n)
}

// kubeletStatus is what the kubelet thinks of a condition: what was last set, or else that all is well.
func (n *node) kubeletStatus(kind v1.NodeConditionType) v1.ConditionStatus {
	if status, ok := n.kubelet[kind]; ok {
		return status
	}
	if kind == v1.NodeReady {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

func findCondition(conditions []v1.NodeCondition, kind v1.NodeConditionType) int {
	for i := range conditions {
		if conditions[i].Type == kind {
			return i
		}
	}
	return -1
}

// Fail stops the node's kubelet and says whether it was alive.
func (c *Cluster) Fail(name string) bool {
	i, ok := c.nodeByID[name]
	if !ok || c.nodes[i].failed {
		return false
	}
	n := &c.nodes[i]
	n.failed, n.failedAt, n.wasTainted = true, c.now(), tainted(n)
	c.stats.stranded(c.now(), int(n.pods-n.finished))
	c.stats.failures++
	return true
}

// Recover brings a failed node's kubelet back and says whether it had failed: terminating pods are
// finished, the node is reported Ready, and its pods are Ready again.
func (c *Cluster) Recover(name string) bool {
	i, ok := c.nodeByID[name]
	if !ok || !c.nodes[i].failed {
		return false
	}
	n := &c.nodes[i]
	c.stats.stranded(c.now(), -int(n.pods-n.finished))
	c.stats.recovered(n)
	n.failed = false
	for p := n.firstPod; p >= 0; {
		pod := &c.pods[p]
		next := pod.next
		switch {
		case pod.terminating:
			c.removePod(p)
		case !pod.ready && !pod.phase.finished():
			pod.ready = true
			c.podChanged(c.podIndex.Key(p))
		}
		p = next
	}
	n.setKubelet(v1.NodeReady, v1.ConditionTrue)
	c.startKubelet(i)
	return true
}

// Failed says whether the node exists and its kubelet is silent.
func (c *Cluster) Failed(name string) bool {
	i, ok := c.nodeByID[name]
	return ok && c.nodes[i].failed
}

// SetCondition lets a live kubelet report a condition, now and from now on.
func (c *Cluster) SetCondition(name string, kind v1.NodeConditionType, status v1.ConditionStatus) bool {
	i, ok := c.nodeByID[name]
	if !ok || c.nodes[i].failed {
		return false
	}
	n := &c.nodes[i]
	n.setKubelet(kind, status)
	c.report(n)
	return true
}

// SetTaint adds a taint, or replaces the one of that key and effect.
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
	c.nodeChanged(n)
	return true
}

// RemoveTaint removes the taint of that key and effect, if it is there.
func (c *Cluster) RemoveTaint(name, key string, effect v1.TaintEffect) bool {
	i, ok := c.nodeByID[name]
	if !ok {
		return false
	}
	n := &c.nodes[i]
	n.taints = without(n.taints, key, effect)
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
	c.counted(&c.pods[i], -1)
	c.occupies(i, -1)
	c.pods[i].phase = phaseOf(p)
	c.pods[i].ready = c.pods[i].ready && !c.pods[i].phase.finished()
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
	n.labels, n.zone = zoneLabels(key), key
	c.relabelled()
	c.nodeChanged(n)
	return true
}

// SetReady lets the kubelet of a pod report whether it is Ready.
func (c *Cluster) SetReady(key evictor.PodKey, ready bool) bool {
	i, ok := c.findPod(key)
	if !ok {
		return false
	}
	c.pods[i].ready = ready
	c.podChanged(c.podIndex.Key(i))
	return true
}
