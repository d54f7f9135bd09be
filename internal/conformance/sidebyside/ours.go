package main

import (
	"context"
	"errors"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	apipod "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"
	utilpod "k8s.io/kubernetes/pkg/util/pod"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// ours is evictor.Run on the same informers and the same clientset.
type ours struct {
	evictor     *evictor.Evictor
	broadcaster record.EventBroadcaster
	client      *client
}

func config() evictor.Config {
	c := evictor.DefaultConfig()
	c.Nodes.NodeMonitorPeriod, c.Nodes.NodeMonitorGracePeriod, c.Nodes.NodeStartupGracePeriod = monitorPeriod, monitorGrace, startupGrace
	c.Nodes.NodeEvictionRate, c.Nodes.SecondaryNodeEvictionRate = perSecond, reducedRate
	c.Nodes.LargeClusterSizeThreshold, c.Nodes.UnhealthyZoneThreshold = largeZone, unhealthyShare
	return c
}

func newOurs(ctx context.Context, t *testing.T, c *client, factory informers.SharedInformerFactory) side {
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	store := stores{nodes: nodes.GetIndexer(), pods: pods.GetIndexer()}
	o := &ours{broadcaster: record.NewBroadcaster(record.WithContext(ctx)), client: c}
	recorder := o.broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: "evictkit"})
	var err error
	o.evictor, err = evictor.New(config(), evictor.Clients{
		Nodes: store, Pods: store, NodeWriter: writer{c}, PodWriter: writer{c},
	}, evictor.Options{Observer: sink{recorder}})
	if err != nil {
		t.Fatal(err)
	}
	_, nodeErr := nodes.AddEventHandler(all(func(n *v1.Node) { o.evictor.NodeChanged(n.Name) }))
	_, podErr := pods.AddEventHandler(all(func(p *v1.Pod) {
		o.evictor.PodChanged(evictor.PodKey{Namespace: p.Namespace, Name: p.Name})
	}))
	if err := errors.Join(nodeErr, podErr, controller.AddPodNodeNameIndexer(pods)); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *ours) run(ctx context.Context) {
	o.broadcaster.StartRecordingToSink(&corev1.EventSinkImpl{Interface: corev1.New(o.client.CoreV1().RESTClient()).Events("")})
	defer o.broadcaster.Shutdown()
	_ = o.evictor.Run(ctx) // ends with the context
}

func (o *ours) leaseRenewed(node string, renewTime time.Time) {
	o.evictor.LeaseObserved(node, renewTime, "")
}
func (o *ours) nodeStored(node string) { o.evictor.NodeChanged(node) }

// all calls f for every event.
func all[T any](f func(T)) cache.ResourceEventHandler {
	tell := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if t, ok := object.(T); ok {
			f(t)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }, DeleteFunc: tell}
}

// stores read the informers' stores.
type stores struct{ nodes, pods cache.Indexer }

func (stores) Synced() bool { return true } // the scene has waited for the informers

func (s stores) Node(name string) (*v1.Node, bool) { return get[*v1.Node](s.nodes, name) }

func (s stores) Nodes(visit func(*v1.Node) bool) { each(s.nodes.List(), visit) }

func (s stores) Pod(key evictor.PodKey) (*v1.Pod, bool) { return get[*v1.Pod](s.pods, key.String()) }

func (s stores) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	if pods, err := s.pods.ByIndex(controller.PodNodeNameKeyIndex, node); err == nil {
		each(pods, visit)
	}
}

func get[T any](store cache.Indexer, key string) (T, bool) {
	object, _, err := store.GetByKey(key)
	t, ok := object.(T)
	return t, ok && err == nil
}

func each[T any](objects []any, visit func(T) bool) {
	for _, object := range objects {
		if t, ok := object.(T); ok && !visit(t) {
			return
		}
	}
}

// writer writes through the clientset.
type writer struct{ *client }

func (w writer) UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error {
	node = node.DeepCopy()
	for _, c := range conditions {
		i := 0
		for i < len(node.Status.Conditions) && node.Status.Conditions[i].Type != c.Type {
			i++
		}
		if i == len(node.Status.Conditions) {
			node.Status.Conditions = append(node.Status.Conditions, c)
		} else {
			node.Status.Conditions[i] = c
		}
	}
	_, err := w.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

func (w writer) UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error {
	body, err := change.Patch(node.Spec.Taints, node.UID, node.ResourceVersion, time.Now())
	if err != nil {
		return err
	}
	_, err = w.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

func (writer) UpdateLabels(context.Context, *v1.Node, map[string]string) error {
	return errors.New("no node here lacks a label")
}

// Evict writes the same condition as upstream, in the same way, and deletes the pod.
func (w writer) Evict(ctx context.Context, ref evictor.PodRef, _ taints.Deadline) error {
	pod, err := w.CoreV1().Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := pod.Status.DeepCopy()
	if apipod.UpdatePodCondition(status, &v1.PodCondition{
		Type: v1.DisruptionTarget, Status: v1.ConditionTrue,
		Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint",
	}) {
		if _, _, _, err := utilpod.PatchPodStatus(ctx, w, pod.Namespace, pod.Name, pod.UID, pod.Status, *status); err != nil {
			return err
		}
	}
	return w.CoreV1().Pods(ref.Namespace).Delete(ctx, ref.Name, *metav1.NewPreconditionDeleteOptions(string(ref.UID)))
}

func (w writer) MarkNotReady(ctx context.Context, ref evictor.PodRef) error {
	pod, err := w.CoreV1().Pods(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodReady {
			c.Status, c.LastTransitionTime = v1.ConditionFalse, metav1.Now()
		}
	}
	_, err = w.CoreV1().Pods(ref.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// sink records the events that upstream's controllers record here.
type sink struct{ record.EventRecorder }

// ObserveNode implements evictor.Observer.
func (s sink) ObserveNode(d evictor.NodeDecision) {
	node := &v1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: d.Node, UID: d.NodeUID}
	switch {
	case d.Kind == nodelifecycle.NodeRegistered:
		s.Eventf(node, v1.EventTypeNormal, "RegisteredNode", "Node %s event: Registered Node %s in Controller", d.Node, d.Node)
	case d.Kind == nodelifecycle.NodeVerdict && d.From == v1.ConditionTrue && d.To != "":
		s.Eventf(node, v1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", d.Node)
	case d.Kind == nodelifecycle.PodMarkedNotReady:
		s.Event(podReference(d.Pod), v1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
}

// ObservePod implements evictor.Observer.
func (s sink) ObservePod(d evictor.PodDecision) {
	switch d.Kind {
	case tainteviction.PodEvicted:
		s.Event(podReference(d.Pod), v1.EventTypeNormal, "TaintManagerEviction", "Marking for deletion Pod "+d.Pod.PodKey.String())
	case tainteviction.EvictionCancelled:
		s.Event(podReference(d.Pod), v1.EventTypeNormal, "TaintManagerEviction", "Cancelling deletion of Pod "+d.Pod.PodKey.String())
	}
}

func podReference(pod evictor.PodRef) *v1.ObjectReference {
	return &v1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
