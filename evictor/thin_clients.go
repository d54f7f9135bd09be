//go:build thin

package evictor

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

// PodWriter writes pods. It may also be an EvictionChecker. The UID of the reference must be a precondition of both
// calls, so that they never touch a new pod of the same name. NotFound means that the pod is gone, and counts as done;
// after a Conflict the evictor reads the pod again. After TooManyRequests (a disruption budget, or an overloaded API
// server) it retries after the delay that the error suggests, or else after one that grows from Config.GateInterval to
// Config.RetryMax.
type PodWriter interface {
	// Evict deletes the pod or creates an Eviction for it, as the implementation chooses; why is the decision behind
	// it.
	Evict(ctx context.Context, pod PodRef, why Decision) error
	// MarkNotReady sets the pod's Ready condition to False.
	MarkNotReady(ctx context.Context, pod PodRef) error
}

// EventSink receives the Kubernetes events that upstream records, as long as Options.MayWrite permits writes. It must
// not block.
type EventSink interface {
	Event(Event)
}

// Event is one Kubernetes event to record. An event about a pod has Pod set; any other is about Node.
type Event struct {
	Node    string
	NodeUID types.UID
	Pod     PodRef
	Type    string // v1.EventTypeNormal or v1.EventTypeWarning
	Reason  string // EventNodeNotReady and its like
	Message string
}

// Source tells targets about the changes in a cluster; informers are an example. All methods must be safe for
// concurrent use.
type Source interface {
	// Feed registers a target. Once the source runs, it tells the target about every node, pod and lease that exists, and
	// then about every change. New calls Feed, and fails if Feed returns an error, for example because the source cannot
	// serve this configuration.
	Feed(to Target, config Config) error
	// Run feeds the registered targets until the context ends. Evictor.Run calls it, and ends it only after its own last
	// write. A program that calls Step must call Run itself. Concurrent calls share one run, which lasts until the last of
	// their contexts ends. If Run returns earlier, Evictor.Run ends with its error.
	Run(ctx context.Context) error
	// Awaits says in a few words what is missing before the stores are complete; empty means nothing.
	Awaits() string
}

// Clients are the interfaces through which the evictor sees and changes the cluster. Source, EventSink and Confirmer may
// be nil; the others are required.
type Clients struct {
	Nodes      NodeStore
	Pods       PodStore
	NodeWriter NodeWriter
	PodWriter  PodWriter
	EventSink  EventSink
	// Source feeds the evictor. Without one, the program must call NodeChanged, PodChanged and LeaseRenewed; the evictor
	// decides nothing before that.
	Source Source
	// Confirmer answers whether a silent node is alive, before its verdict becomes Unknown. Without one, silence is
	// enough.
	Confirmer Confirmer
}
