package clientgo

import (
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	recording "k8s.io/client-go/tools/record"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// The components that upstream's events name as their source.
const (
	nodeComponent  = "node-controller"
	taintComponent = "taint-eviction-controller"
)

// remembered is how many events are known again, so that another one like it is a count in the first. They are kept three times,
// with all that tells them apart: client-go's own 4,096 are 6 MiB, which fill as pods are evicted.
const remembered = 1024

// events records decisions as Kubernetes events. It drops them while it is not started.
type events struct {
	opts      Options
	recorders atomic.Pointer[recorders]
	failed    atomic.Pointer[func(error)]
}

type recorders struct{ node, taint recording.EventRecorder }

// Events returns an observer, of either half too, that records the Kubernetes events that upstream records, with
// upstream's reasons and texts, while Options.Leads permits it and the Cluster runs. Unlike upstream's, they follow the
// outcome: "Marking for deletion" is recorded only once the pod was deleted. It never blocks: events that come faster
// than they can be written are dropped. A dry run should not have it.
func (c *Cluster) Events() evictor.Observer { return c.events }

// OnEventError has a function called with the error of each failed try to write an event. It must not block. Metrics.Clients of
// package metrics counts them so; a second call replaces the first.
func (c *Cluster) OnEventError(call func(err error)) { c.events.failed.Store(&call) }

// sink writes events, and tells of errors.
type sink struct {
	recording.EventSink
	events *events
}

// Create implements recording.EventSink.
func (s sink) Create(event *v1.Event) (*v1.Event, error) {
	created, err := s.EventSink.Create(event)
	return created, s.note(err)
}

// Patch implements recording.EventSink. An event that is gone is created anew.
func (s sink) Patch(old *v1.Event, data []byte) (*v1.Event, error) {
	patched, err := s.EventSink.Patch(old, data)
	if apierrors.IsNotFound(err) {
		return patched, err
	}
	return patched, s.note(err)
}

func (s sink) note(err error) error {
	if call := s.events.failed.Load(); err != nil && call != nil {
		(*call)(err)
	}
	return err
}

// start begins recording; the returned function ends it.
func (e *events) start() (stop func()) {
	broadcaster := recording.NewBroadcaster(recording.WithCorrelatorOptions(recording.CorrelatorOptions{LRUCacheSize: remembered}))
	broadcaster.StartRecordingToSink(sink{&typedv1.EventSinkImpl{Interface: e.opts.EventClient.CoreV1().Events(v1.NamespaceAll)}, e})
	from := func(upstream string) recording.EventRecorder {
		if e.opts.Component != "" {
			upstream = e.opts.Component
		}
		return broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: upstream})
	}
	e.recorders.Store(&recorders{node: from(nodeComponent), taint: from(taintComponent)})
	return func() {
		e.recorders.Store(nil) // first: a recorder that is shut down logs errors
		broadcaster.Shutdown()
	}
}

// recording returns the recorders, or nil if no event is to be recorded now.
func (e *events) recording() *recorders {
	if r := e.recorders.Load(); r != nil && e.opts.Leads() == nil {
		return r
	}
	return nil
}

// ObserveNode implements evictor.Observer.
func (e *events) ObserveNode(d nodelifecycle.Decision) {
	kind, reason, text := v1.EventTypeNormal, "", ""
	about := &v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: d.Node, UID: d.NodeUID}
	switch {
	case d.Kind == nodelifecycle.NodeRegistered:
		reason, text = "RegisteredNode", fmt.Sprintf("Node %s event: Registered Node %s in Controller", d.Node, d.Node)
	case d.Kind == nodelifecycle.NodeRemoved:
		reason, text = "RemovingNode", fmt.Sprintf("Node %s event: Removing Node %s from Controller", d.Node, d.Node)
	case d.Kind == nodelifecycle.NodeVerdict && d.From == v1.ConditionTrue && d.Silence > 0: // and not what the kubelet says itself
		reason, text = "NodeNotReady", fmt.Sprintf("Node %s status is now: NodeNotReady", d.Node)
	case d.Kind == nodelifecycle.PodMarkedNotReady:
		about = podReference(d.Pod)
		kind, reason, text = v1.EventTypeWarning, "NodeNotReady", "Node is not ready"
	case d.Kind == nodelifecycle.PodEvicted:
		about = podReference(d.Pod)
		reason, text = "NodeControllerEviction", fmt.Sprintf("Marking for deletion Pod %s from Node %s", d.Pod.Name, d.Node)
	case d.Kind == nodelifecycle.NodeEmptied && d.Reason != "NoPods":
		reason, text = "DeletingAllPods", fmt.Sprintf("Node %s event: Deleting all Pods from Node %s.", d.Node, d.Node)
	default:
		return
	}
	if r := e.recording(); r != nil {
		r.node.Event(about, kind, reason, text)
	}
}

// ObservePod implements evictor.Observer.
func (e *events) ObservePod(d tainteviction.Decision) {
	var text string
	switch d.Kind {
	case tainteviction.PodEvicted:
		text = "Marking for deletion Pod " + d.Pod.PodKey.String()
	case tainteviction.EvictionCancelled:
		text = "Cancelling deletion of Pod " + d.Pod.PodKey.String()
	default:
		return
	}
	if r := e.recording(); r != nil {
		r.taint.Event(podReference(d.Pod), v1.EventTypeNormal, "TaintManagerEviction", text)
	}
}

func podReference(pod evictor.PodRef) *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
