package clientgo

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	recording "k8s.io/client-go/tools/record"

	"github.com/evictkit/evictkit/evictor"
)

// The sources of upstream's events.
const (
	nodeComponent  = "node-controller"
	taintComponent = "taint-eviction-controller"
)

// background is what runs with the factory beside the informers, and looks like one to it: the recorder
// of events and the guard.
type background struct {
	cache.SharedIndexInformer // the leases', for everything but running

	opts      Options
	guard     *guard
	sources   sources
	recorders atomic.Pointer[recorders]
}

type recorders struct{ node, taint recording.EventRecorder }

func (b *background) running() bool { return b.recorders.Load() != nil }

// Run is RunWithContext for factories of client-go before 0.35.
func (b *background) Run(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	b.RunWithContext(ctx)
}

// RunWithContext is called by the factory, once.
func (b *background) RunWithContext(ctx context.Context) {
	broadcaster := recording.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedv1.EventSinkImpl{Interface: b.opts.EventClient.CoreV1().Events(v1.NamespaceAll)})
	from := func(upstream string) recording.EventRecorder {
		if b.opts.Component != "" {
			upstream = b.opts.Component
		}
		return broadcaster.NewRecorder(scheme.Scheme, v1.EventSource{Component: upstream})
	}
	b.recorders.Store(&recorders{node: from(nodeComponent), taint: from(taintComponent)})
	defer b.recorders.Store(nil) // a recorder that is shut down complains
	b.guard.run(ctx)
}

// Event implements evictor.EventSink. It does not block: what the recorder cannot take is dropped.
func (b *background) Event(event evictor.Event) {
	r := b.recorders.Load()
	if r == nil {
		return // the evictor decides nothing before Synced, which waits for this
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
