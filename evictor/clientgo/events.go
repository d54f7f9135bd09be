package clientgo

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	recording "k8s.io/client-go/tools/record"

	"github.com/evictkit/evictkit/evictor"
)

// The components that upstream's events name as their source.
const (
	nodeComponent  = "node-controller"
	taintComponent = "taint-eviction-controller"
)

// eventSink implements evictor.EventSink. It drops events while it is not started.
type eventSink struct {
	opts      Options
	recorders atomic.Pointer[recorders]
}

type recorders struct{ node, taint recording.EventRecorder }

// start begins recording; the returned function ends it.
func (s *eventSink) start() (stop func()) {
	broadcaster := recording.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: s.opts.EventClient.CoreV1().Events(v1.NamespaceAll)})
	from := func(upstream string) recording.EventRecorder {
		if s.opts.Component != "" {
			upstream = s.opts.Component
		}
		return broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: upstream})
	}
	s.recorders.Store(&recorders{node: from(nodeComponent), taint: from(taintComponent)})
	return func() {
		s.recorders.Store(nil) // first: a recorder that is shut down logs errors
		broadcaster.Shutdown()
	}
}

// Event implements evictor.EventSink. It does not block: events that the recorder cannot take are dropped.
func (s *eventSink) Event(event evictor.Event) {
	r := s.recorders.Load()
	if r == nil {
		return // not running: the evictor decides nothing before Synced, and so not before Run
	}
	about := &v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: event.Node, UID: event.NodeUID}
	if event.Pod.Name != "" {
		about = &v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: event.Pod.Namespace, Name: event.Pod.Name, UID: event.Pod.UID}
	}
	recorder := r.node
	if event.Reason == evictor.EventTaintManagerEviction {
		recorder = r.taint
	}
	recorder.Event(about, event.Type, event.Reason, event.Message)
}
