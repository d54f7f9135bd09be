package evictortest

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/simulator"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// podKey reads the name of a pod as Evicted writes it.
func podKey(name string) evictor.PodKey {
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		return evictor.PodKey{Namespace: namespace, Name: rest}
	}
	return evictor.PodKey{Namespace: "default", Name: name}
}

// do changes the cluster. It fails the test if the object does not exist.
func (c *Cluster) do(what, name string, change func(*simulator.Cluster) bool) {
	c.t.Helper()
	c.mu.Lock()
	ok := change(c.cluster)
	c.mu.Unlock()
	if !ok {
		c.t.Fatalf("evictortest: cannot %s %s: it does not exist, or is not in a state for it", what, name)
	}
}

// Fail stops the kubelets of these nodes: they neither renew nor report, and their deleted pods stay terminating.
// Failing a node again changes nothing.
func (c *Cluster) Fail(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do("fail node", name, func(s *simulator.Cluster) bool { return s.Fail(name) || s.Failed(name) })
	}
}

// Recover brings the kubelets of these nodes back: they renew and report Ready at once.
func (c *Cluster) Recover(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do("recover node", name, func(s *simulator.Cluster) bool {
			_, exists := s.Node(name)
			return s.Recover(name) || exists
		})
	}
}

// Condition makes the live kubelet of a node report a condition, now and in every later report. A condition that is none of
// the kubelet's, such as MaintenancePlanned, may be set while the node has failed, too.
func (c *Cluster) Condition(node string, kind v1.NodeConditionType, status v1.ConditionStatus) {
	c.t.Helper()
	c.do("set a condition of node", node, func(s *simulator.Cluster) bool { return s.SetCondition(node, kind, status) })
}

// Taint adds a taint to a node, as if something other than the evictor did.
func (c *Cluster) Taint(node string, taint v1.Taint) {
	c.t.Helper()
	c.do("taint node", node, func(s *simulator.Cluster) bool { return s.SetTaint(node, taint) })
}

// Untaint removes a taint from a node, as if something other than the evictor did.
func (c *Cluster) Untaint(node, key string, effect v1.TaintEffect) {
	c.t.Helper()
	c.do("untaint node", node, func(s *simulator.Cluster) bool { return s.RemoveTaint(node, key, effect) })
}

// Cordon makes a node unschedulable, or schedulable again.
func (c *Cluster) Cordon(node string, unschedulable bool) {
	c.t.Helper()
	c.do("cordon node", node, func(s *simulator.Cluster) bool { return s.Cordon(node, unschedulable) })
}

// DeleteNode deletes a node and its pods.
func (c *Cluster) DeleteNode(node string) {
	c.t.Helper()
	c.do("delete node", node, func(s *simulator.Cluster) bool { return s.DeleteNode(node) })
}

// AddNode adds a node that reports Ready at once. If a node of that name was deleted, the new one has a new UID.
func (c *Cluster) AddNode(node string, key zone.Key) {
	c.t.Helper()
	c.mu.Lock()
	err := c.cluster.AddNode(node, key)
	if err == nil {
		c.cluster.StartKubelet(node)
	}
	c.mu.Unlock()
	c.must(err)
}

// AddPod adds a Ready pod without an owner. Here and below, a pod is named namespace/name, or just name in namespace
// default.
func (c *Cluster) AddPod(name, node string, tolerations ...v1.Toleration) {
	c.t.Helper()
	c.mu.Lock()
	err := c.cluster.AddPod(podKey(name), node, simulator.PodSpec{Tolerations: tolerations})
	c.mu.Unlock()
	c.must(err)
}

// DeletePod deletes a pod.
func (c *Cluster) DeletePod(name string) {
	c.t.Helper()
	c.do("delete pod", name, func(s *simulator.Cluster) bool {
		return s.DeletePod(podKey(name))
	})
}

// SetAPIDown makes every write, and every read of a lease, fail from now on, or ends that.
func (c *Cluster) SetAPIDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = nil
	if down {
		c.down = apierrors.NewServiceUnavailable("evictortest: the API is down")
	}
}

// FailWrites calls fault for every write from now on: "conditions", "taints" or "labels" with a node's name, "evict",
// "podStatus" or, before the first of pods that go together is evicted, "checkEviction" with a pod's namespace/name. If fault returns an error, for example one from
// k8s.io/apimachinery/pkg/api/errors, the write fails with it. Several functions are called in turn; nil removes them
// all.
func (c *Cluster) FailWrites(fault func(write, object string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fault == nil {
		c.faults = nil
		return
	}
	c.faults = append(c.faults, fault)
}

// LoseLeases makes the watch lose the lease renewals of these nodes from now on. Their kubelets renew them all the same,
// so that whoever reads a lease from the API sees that.
func (c *Cluster) LoseLeases(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do("lose the lease of node", name, func(s *simulator.Cluster) bool { return s.LoseLeases(name, 0) })
	}
}

// ShowLeases ends LoseLeases for these nodes, from their next renewals on.
func (c *Cluster) ShowLeases(nodes ...string) {
	c.t.Helper()
	for _, name := range nodes {
		c.do("show the lease of node", name, func(s *simulator.Cluster) bool { return s.ShowLeases(name) })
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
		until := c.clock.Elapsed() + latency
		for {
			if _, reported := c.turns(until); !reported {
				break
			}
		}
		c.move(until)
	}
}

// stores, writers and leases are the cluster's client interfaces.
type (
	stores  Cluster
	writers Cluster
	leases  Cluster
)

func (l *leases) Confirm(ctx context.Context, suspect evictor.Suspect) (evictor.Answer, error) {
	c := (*Cluster)(l)
	c.mu.Lock()
	latency := c.latency
	c.mu.Unlock()
	c.wait(latency)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmp.Or(c.unread, c.down); err != nil {
		return evictor.Unanswered, err
	}
	return c.cluster.Confirm(ctx, suspect)
}

func (s *stores) Synced() bool { return true }

func (s *stores) Node(name string) (*v1.Node, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.Node(name)
}

func (s *stores) Nodes(visit func(*v1.Node) bool) {
	s.mu.Lock()
	var nodes []*v1.Node
	s.cluster.Nodes(func(n *v1.Node) bool {
		nodes = append(nodes, n)
		return true
	})
	s.mu.Unlock()
	for _, n := range nodes {
		if !visit(n) {
			return
		}
	}
}

func (s *stores) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.Pod(key)
}

func (s *stores) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	s.mu.Lock()
	var pods []*v1.Pod
	for _, key := range s.cluster.SortedPods(node) {
		p, _ := s.cluster.Pod(key)
		pods = append(pods, p)
	}
	s.mu.Unlock()
	for _, p := range pods {
		if !visit(p) {
			return
		}
	}
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
	return w.write("conditions", node.Name, func() error { return w.writer.UpdateConditions(ctx, node, conditions) })
}

func (w *writers) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	return w.write("taints", node.Name, func() error { return w.writer.UpdateTaints(ctx, node, change) })
}

func (w *writers) UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error {
	return w.write("labels", node.Name, func() error { return w.writer.UpdateLabels(ctx, node, labels) })
}

func (w *writers) Evict(ctx context.Context, pod evictor.PodRef, why evictor.Decision) error {
	return w.write("evict", pod.PodKey.String(), func() error { return w.writer.Evict(ctx, pod, why) })
}

func (w *writers) CheckEviction(ctx context.Context, pod evictor.PodRef, why evictor.Decision) error {
	return w.write("checkEviction", pod.PodKey.String(), func() error { return w.writer.CheckEviction(ctx, pod, why) })
}

func (w *writers) MarkNotReady(ctx context.Context, pod evictor.PodRef) error {
	return w.write("podStatus", pod.PodKey.String(), func() error { return w.writer.MarkNotReady(ctx, pod) })
}

// Tolerate replaces the tolerations of a pod.
func (c *Cluster) Tolerate(pod string, tolerations ...v1.Toleration) {
	c.t.Helper()
	c.do("change the tolerations of pod", pod, func(s *simulator.Cluster) bool {
		return s.SetTolerations(podKey(pod), tolerations)
	})
}

// Phase sets the phase of a pod.
func (c *Cluster) Phase(pod string, phase v1.PodPhase) {
	c.t.Helper()
	c.do("set the phase of pod", pod, func(s *simulator.Cluster) bool {
		return s.SetPhase(podKey(pod), phase)
	})
}

// LabelNode replaces the labels of a node, except those of its zone and region: Relabel changes these.
func (c *Cluster) LabelNode(node string, labels map[string]string) {
	c.t.Helper()
	c.do("label node", node, func(s *simulator.Cluster) bool { return s.SetLabels(node, labels) })
}

// LabelPod replaces the labels of a pod.
func (c *Cluster) LabelPod(pod string, labels map[string]string) {
	c.t.Helper()
	c.do("label pod", pod, func(s *simulator.Cluster) bool { return s.SetPodLabels(podKey(pod), labels) })
}

// Relabel moves a node to another zone. Its other labels stay as they are.
func (c *Cluster) Relabel(node string, key zone.Key) {
	c.t.Helper()
	c.do("relabel node", node, func(s *simulator.Cluster) bool { return s.SetZone(node, key) })
}

// AddPodObject adds a pod with this object's labels, controller, mirror annotation, conditions, phase and tolerations. Its
// node must exist. An empty namespace means default.
func (c *Cluster) AddPodObject(pod *v1.Pod) {
	c.t.Helper()
	if pod.Namespace == "" {
		pod = pod.DeepCopy()
		pod.Namespace = "default"
	}
	c.mu.Lock()
	bound, err := c.cluster.AddPodObject(pod)
	c.mu.Unlock()
	if err == nil && !bound {
		err = fmt.Errorf("pod %s: node %s does not exist", pod.Name, pod.Spec.NodeName)
	}
	c.must(err)
}

// PodReady sets the Ready condition of a pod, as its kubelet would.
func (c *Cluster) PodReady(pod string, ready bool) {
	c.t.Helper()
	c.do("set the Ready condition of pod", pod, func(s *simulator.Cluster) bool {
		return s.SetReady(podKey(pod), ready)
	})
}
