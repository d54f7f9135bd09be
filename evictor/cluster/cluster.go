// Package cluster has what both halves of an evictor see of a cluster: names of pods, stores and who fills them.
package cluster

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
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

// RefOf returns the pod's reference.
func RefOf(pod *v1.Pod) PodRef {
	return PodRef{PodKey{pod.Namespace, pod.Name}, pod.UID, pod.Spec.NodeName}
}

// Shows says whether the object, nil for none, is that pod, on the same node.
func (r PodRef) Shows(pod *v1.Pod) bool {
	return pod != nil && pod.UID == r.UID && pod.Spec.NodeName == r.Node
}

// NodeStore reads the user's cache of nodes. It must not call the evictor, nor change a node that it has handed out. It may hold a
// lock of its own in each method: what is done during a visit asks only the clock, and waits for nobody who reads a store.
type NodeStore interface {
	// Synced reports whether the store is complete. Nothing is decided before it is.
	Synced() bool
	Node(name string) (*v1.Node, bool)
	Nodes(visit func(*v1.Node) bool)
}

// PodStore reads the user's cache of pods, under the same rules.
type PodStore interface {
	Pod(key PodKey) (*v1.Pod, bool)
	// PodsOnNode may reuse one object for all visits.
	PodsOnNode(node string, visit func(*v1.Pod) bool)
}

// Target receives the changes in a cluster. An Evictor is one, and so is each half.
type Target interface {
	NodeChanged(name string)
	PodChanged(key PodKey)
	LeaseObserved(node string, renewTime time.Time, resourceVersion string)
	SetObserverHealth(err error)
}

// Evicter evicts pods: it deletes them, or creates Evictions. The UID of the reference must be a precondition. NotFound counts
// as done, a Conflict is retried, and a *gate.Refused or TooManyRequests means not now. why has the taint, the toleration and
// the deadline; it has no taint if a failed node is emptied.
type Evicter interface {
	Evict(ctx context.Context, pod PodRef, why taints.Deadline) error
}

// Source tells targets about the changes in a cluster; informers are an example.
type Source interface {
	// Feed registers a target.
	Feed(to Target) error
	// Run feeds the targets until the context ends.
	Run(ctx context.Context) error
	// Awaits says what is missing before the stores are complete; empty means nothing. It is asked whenever an evictor looks at the
	// cluster, before Synced, with nothing locked, and may tell targets.
	Awaits() string
}

// Own says whether evictions by the taints that a node lifecycle controller sets (not-ready and unreachable, NoExecute) are
// wanted on a node now. Package nodelifecycle answers, and package tainteviction asks.
type Own struct {
	Wanted  bool          // the verdict asks for them
	Why     string        // why not, or what they wait for
	Wait    time.Duration // nothing leaves before; 0 for at once
	Stale   bool          // the store does not show the node as it was: that holds back evictions by any taint
	Overdue bool          // pods that fell due while harm was refused wait for the node's turn
	Domain  zone.Key      // in which the node counts
}
