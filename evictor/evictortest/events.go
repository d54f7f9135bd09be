package evictortest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/zone"
)

// split reads the name of a pod as Evicted writes it.
func split(pod string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(pod, "/"); ok {
		return namespace, name
	}
	return v1.NamespaceDefault, pod
}

// change changes the world. An error fails the test.
func (c *Cluster) change(change func() error) {
	c.t.Helper()
	c.mu.Lock()
	err := change()
	c.mu.Unlock()
	c.must(err)
}

// do makes an event happen.
func (c *Cluster) do(e simulation.Event) {
	c.t.Helper()
	c.change(func() error { return c.world.Do(e) })
}

// add adds an object.
func (c *Cluster) add(object runtime.Object) {
	c.t.Helper()
	c.change(func() error { return c.world.Add(object) })
}

// updateNode changes a node.
func (c *Cluster) updateNode(name string, change func(*v1.Node)) {
	c.t.Helper()
	c.change(func() error {
		n, ok := c.api.Nodes.Node(name)
		if !ok {
			return fmt.Errorf("node %s does not exist", name)
		}
		n = n.DeepCopy()
		change(n)
		return c.world.Update(n)
	})
}

// updatePod changes a pod.
func (c *Cluster) updatePod(name string, change func(*v1.Pod)) {
	c.t.Helper()
	c.change(func() error {
		var key evictor.PodKey
		key.Namespace, key.Name = split(name)
		p, ok := c.api.Pods.Pod(key)
		if !ok {
			return fmt.Errorf("pod %s does not exist", name)
		}
		p = p.DeepCopy()
		change(p)
		return c.world.Update(p)
	})
}

func named(node string) *simulation.Nodes { return &simulation.Nodes{Names: []string{node}} }

// Fail stops the kubelets of these nodes: they neither renew nor report, and their deleted pods stay terminating.
// Failing a node again changes nothing.
func (c *Cluster) Fail(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do(simulation.Event{Fail: named(name)})
	}
}

// Recover brings the kubelets of these nodes back: they renew, and report Ready at once or as
// NotReadyFor says.
func (c *Cluster) Recover(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do(simulation.Event{Recover: named(name)})
	}
}

// Condition makes the live kubelet of a node report a condition, now and in every later report. A condition that is none of
// the kubelet's, such as MaintenancePlanned, may be set while the node has failed, too.
func (c *Cluster) Condition(node string, kind v1.NodeConditionType, status v1.ConditionStatus) {
	c.t.Helper()
	c.do(simulation.Event{Condition: &simulation.Condition{Nodes: *named(node), Type: kind, Status: status}})
}

// Taint adds a taint to a node, as if something other than the evictor did.
func (c *Cluster) Taint(node string, taint v1.Taint) {
	c.t.Helper()
	c.updateNode(node, func(n *v1.Node) {
		n.Spec.Taints = append(slices.DeleteFunc(n.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) }), taint)
	})
}

// Untaint removes a taint from a node, as if something other than the evictor did.
func (c *Cluster) Untaint(node, key string, effect v1.TaintEffect) {
	c.t.Helper()
	c.do(simulation.Event{Untaint: &simulation.Untaint{Nodes: *named(node), Key: key, Effect: effect}})
}

// Cordon makes a node unschedulable, or schedulable again.
func (c *Cluster) Cordon(node string, unschedulable bool) {
	c.t.Helper()
	event := map[bool]simulation.Event{true: {Cordon: named(node)}, false: {Uncordon: named(node)}}[unschedulable]
	c.do(event)
}

// DeleteNode deletes a node and its pods.
func (c *Cluster) DeleteNode(node string) {
	c.t.Helper()
	c.do(simulation.Event{DeleteNode: named(node)})
}

// AddNode adds a node that reports Ready at once, or as NotReadyFor says. If a node of that name was deleted, the new one has a new UID.
func (c *Cluster) AddNode(node string, key zone.Key) {
	c.t.Helper()
	c.add(newNode(node, c.clock.Now(), labelled(key, nil)))
}

// AddPod adds a Ready pod with just these tolerations and without an owner; without any, it leaves as soon as its node
// is tainted NoExecute. Here and below, a pod's name is namespace/name, or just name in namespace default.
func (c *Cluster) AddPod(name, node string, tolerations ...v1.Toleration) {
	c.t.Helper()
	c.add(newPod(name, node, c.clock.Now(), tolerations))
}

// DeletePod deletes a pod. On a failed node it stays, terminating, until its kubelet is back or the node is deleted.
func (c *Cluster) DeletePod(name string) {
	c.t.Helper()
	c.do(simulation.Event{DeletePod: &simulation.Pod{Name: name}})
}

// SetAPIDown makes every write, and every read of a lease, fail from now on if down is true. If it is false, that ends.
func (c *Cluster) SetAPIDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = nil
	if down {
		c.down = apierrors.NewServiceUnavailable("evictortest: the API is down")
	}
}

// FailWrites calls fault for every write from now on. The first argument is "conditions", "taints" or "labels", with a
// node's name, or "evict" or "podStatus", with a pod's namespace/name. If fault returns an error, for example one from
// k8s.io/apimachinery/pkg/api/errors, the write fails with it. Several functions are called in turn; nil removes
// them all.
func (c *Cluster) FailWrites(fault func(write, object string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault == nil {
		c.faults = nil
		return
	}
	c.faults = append(c.faults, fault)
}

// LoseLeases makes the watch lose the lease renewals of these nodes from now on. Their kubelets still renew them, and a
// read of the lease from the API shows that.
func (c *Cluster) LoseLeases(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do(simulation.Event{LoseLeases: &simulation.LoseLeases{Nodes: *named(name)}})
	}
}

// ShowLeases ends LoseLeases for these nodes, from their next renewals on.
func (c *Cluster) ShowLeases(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do(simulation.Event{ShowLeases: named(name)})
	}
}

// FailReads makes every read of a lease from the API fail with err from now on; nil ends that.
func (c *Cluster) FailReads(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unread = err
}

// SetLatency makes every write, and every read of a lease, take that much virtual time, during which kubelets go on.
func (c *Cluster) SetLatency(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latency = d
}

// Tolerate replaces the tolerations of a pod.
func (c *Cluster) Tolerate(pod string, tolerations ...v1.Toleration) {
	c.t.Helper()
	c.updatePod(pod, func(p *v1.Pod) { p.Spec.Tolerations = tolerations })
}

// Phase sets the phase of a pod.
func (c *Cluster) Phase(pod string, phase v1.PodPhase) {
	c.t.Helper()
	c.updatePod(pod, func(p *v1.Pod) { p.Status.Phase = phase })
}

// LabelNode replaces the labels of a node, except those of its zone and region: Relabel changes these.
func (c *Cluster) LabelNode(node string, labels map[string]string) {
	c.t.Helper()
	c.updateNode(node, func(n *v1.Node) { n.Labels = labelled(zone.KeyOf(n.Labels), labels) })
}

// LabelPod replaces the labels of a pod.
func (c *Cluster) LabelPod(pod string, labels map[string]string) {
	c.t.Helper()
	c.updatePod(pod, func(p *v1.Pod) { p.Labels = labels })
}

// Relabel moves a node to another zone. Its other labels stay as they are.
func (c *Cluster) Relabel(node string, key zone.Key) {
	c.t.Helper()
	c.updateNode(node, func(n *v1.Node) {
		for _, label := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion} {
			delete(n.Labels, label)
		}
		n.Labels = labelled(key, n.Labels)
	})
}

// AddPodObject adds this pod. The stores show all its fields but its resourceVersion. Its node must exist. An empty namespace
// means default. If the object has no CreationTimestamp, the pod was created now. If it has no conditions, it is Ready. As the
// API server's admission does, AddPodObject makes it tolerate not-ready and unreachable for 300 seconds, unless it has
// tolerations of its own for them.
func (c *Cluster) AddPodObject(pod *v1.Pod) {
	c.t.Helper()
	if pod != nil {
		pod = pod.DeepCopy()
		if pod.CreationTimestamp.IsZero() {
			pod.CreationTimestamp = metav1.NewTime(c.clock.Now())
		}
		own := pod.Spec.Tolerations
		for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
			if !slices.ContainsFunc(own, func(t v1.Toleration) bool {
				return (t.Key == key || t.Key == "") && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "")
			}) {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, TolerateFor(key, 300))
			}
		}
	}
	c.add(pod)
}

// SetPodReady sets the Ready condition of a pod, as its kubelet would.
func (c *Cluster) SetPodReady(pod string, ready bool) {
	c.t.Helper()
	c.updatePod(pod, func(p *v1.Pod) {
		status := map[bool]v1.ConditionStatus{true: v1.ConditionTrue, false: v1.ConditionFalse}[ready]
		p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: status}}
	})
}
