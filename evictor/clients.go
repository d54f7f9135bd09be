package evictor

import (
	"context"

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
// any more or changed and is looked at again; TooManyRequests (a disruption budget) is retried after
// the time the error suggests, without growing backoff.
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

// Clients are the interfaces through which the evictor sees and changes the cluster. EventSink may be
// nil, the others are required.
type Clients struct {
	Nodes      NodeStore
	Pods       PodStore
	NodeWriter NodeWriter
	PodWriter  PodWriter
	EventSink  EventSink
}
