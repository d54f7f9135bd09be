//go:build !thin

package evictor

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/taints"
)

// PodKey is a pod's namespace and name. Another pod may have the same key later.
type PodKey struct{ Namespace, Name string }

// String returns namespace/name.
func (k PodKey) String() string { return k.Namespace + "/" + k.Name }

// PodRef names one pod. A write must carry its UID as a precondition.
type PodRef struct {
	PodKey
	UID  types.UID
	Node string
}

// NodeStore reads the user's cache of nodes. All methods must be safe for concurrent use and must not call back into
// the evictor. The evictor changes no object that it gets, so a store may hand out its own objects, and these may share
// maps and slices. The store must not change a node that it has handed out, only replace it. The evictor keeps a node
// while it writes it and, with a Budget, the node's map of labels until it reads the node again.
type NodeStore interface {
	// Synced reports whether the store is complete. The evictor decides nothing before it is.
	Synced() bool
	// Node returns the node of that name, or false when there is none.
	Node(name string) (*v1.Node, bool)
	// Nodes calls visit for every node until visit returns false.
	Nodes(visit func(*v1.Node) bool)
}

// PodStore reads the user's cache of pods, under the same rules as NodeStore. The evictor keeps no reference to a pod.
type PodStore interface {
	// Pod returns the pod of that name, or false when there is none.
	Pod(key PodKey) (*v1.Pod, bool)
	// PodsOnNode calls visit for every pod bound to the node until visit returns false. visit uses a pod only during the
	// call, so a store may reuse one object for all of them.
	PodsOnNode(node string, visit func(*v1.Pod) bool)
}

// NodeWriter writes nodes. Each call carries the node as the evictor read it; its UID must be a precondition of the
// write. NotFound counts as done. After a Conflict the evictor reads the node again. After any other error it retries
// with backoff for as long as the decision holds.
type NodeWriter interface {
	// UpdateConditions sets these conditions in the node's status and leaves the others alone.
	UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error
	// UpdateTaints applies the change in one write; taints.Change.Patch builds its body.
	UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error
	// UpdateLabels sets these labels and leaves the others alone.
	UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error
}

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

// Target receives the changes in a cluster. An Evictor is one; see its methods of the same names.
type Target interface {
	NodeChanged(name string)
	PodChanged(key PodKey)
	LeaseObserved(node string, renewTime time.Time, resourceVersion string)
	SetObserverHealth(err error)
}

var _ Target = (*Evictor)(nil)

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
