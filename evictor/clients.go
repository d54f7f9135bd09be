package evictor

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/taints"
)

// PodKey is the slot of a pod: its namespace and name.
type PodKey struct{ Namespace, Name string }

// String is namespace/name.
func (k PodKey) String() string { return k.Namespace + "/" + k.Name }

// PodRef names one pod, with the identity that a write must carry as its precondition.
type PodRef struct {
	PodKey
	UID  types.UID
	Node string
}

// NodeStore reads the user's cache of nodes. All methods must be safe for concurrent use and must
// not call back into the evictor. The evictor neither changes nor keeps what it is given.
type NodeStore interface {
	// Synced says that the store is complete. Nothing is decided before.
	Synced() bool
	// Node returns the node of that name, false when there is none.
	Node(name string) (*v1.Node, bool)
	// Nodes calls visit for every node until it returns false.
	Nodes(visit func(*v1.Node) bool)
}

// PodStore reads the user's cache of pods, under the same rules as NodeStore.
type PodStore interface {
	// Pod returns the pod of that name, false when there is none.
	Pod(key PodKey) (*v1.Pod, bool)
	// PodsOnNode calls visit for every pod bound to the node until it returns false. The pod is only
	// used during the call, so a store may hand out the same one again with other content.
	PodsOnNode(node string, visit func(*v1.Pod) bool)
}

// NodeWriter writes nodes. Each call carries the node as it was read: its UID is a precondition of
// the write. NotFound counts as done, Conflict is read again, any other error is retried with
// backoff while the decision still holds.
type NodeWriter interface {
	// UpdateConditions sets these conditions in the node's status and leaves the others.
	UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error
	// UpdateTaints applies the change in one write; taints.Change.Patch makes its body.
	UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error
	// UpdateLabels sets these labels and leaves the others.
	UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error
}

// PodWriter writes pods. The UID of the reference is a precondition of both calls: a pod that was
// replaced under its name must not be touched. NotFound and Conflict mean that the pod is not there
// any more or changed and is looked at again; TooManyRequests (a disruption budget) is retried after the time the error
// suggests or, where it suggests none, after one that grows from Config.GateInterval to Config.RetryMax.
type PodWriter interface {
	// Evict deletes the pod or creates an Eviction for it, as the implementation chooses. The decision
	// says why.
	Evict(ctx context.Context, pod PodRef, why Decision) error
	// MarkNotReady sets the pod's Ready condition to False.
	MarkNotReady(ctx context.Context, pod PodRef) error
}

// EventSink receives the events that upstream records, while Options.MayWrite permits writes. It must not block.
type EventSink interface {
	Event(Event)
}

// Event is one Kubernetes event to record; Pod is set for events about a pod, else Node.
type Event struct {
	Node    string
	NodeUID types.UID
	Pod     PodRef
	Type    string // v1.EventTypeNormal or v1.EventTypeWarning
	Reason  string
	Message string
}

// Target is told what changes in a cluster. An Evictor is one; its methods of these names say what each means.
type Target interface {
	NodeChanged(name string)
	PodChanged(key PodKey)
	LeaseObserved(node string, renewTime time.Time, resourceVersion string)
	SetObserverHealth(err error)
}

var _ Target = (*Evictor)(nil)

// Source brings what changes in a cluster to those that are to know: informers, for example. All methods must be safe for
// concurrent use.
type Source interface {
	// Feed tells the target of every node, pod and lease that is there, once the source runs, and of all that change
	// from then on. New calls it, so that no evictor is left without; an error, which fails New, may also say
	// that the source cannot serve such a configuration.
	Feed(to Target, config Config) error
	// Run brings what is fed until the context ends. Evictor.Run runs it beside itself, for longer than its own last write.
	// Who calls Step runs it himself. Several calls at a time are one until the last of their contexts ends. To return
	// earlier ends Evictor.Run, with this error.
	Run(ctx context.Context) error
	// Awaits says in a few words what is still to come before the stores are complete; empty when nothing is.
	Awaits() string
}

// Clients are the interfaces through which the evictor sees and changes the cluster. Source and EventSink may be
// nil, the others are required.
type Clients struct {
	Nodes      NodeStore
	Pods       PodStore
	NodeWriter NodeWriter
	PodWriter  PodWriter
	EventSink  EventSink
	// Source feeds the evictor. Without one the program does, with NodeChanged, PodChanged and LeaseRenewed, and
	// nothing is decided before it has begun to.
	Source Source
}
