// Package outside is the door through which others play parts of a simulated world in place of evictor/simulation.
// Kubernetes' own controllers do so in internal/conformance/controllermanager. Whoever plays a scenario without this
// package gets the whole world.
package outside

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Parts says which parts of a world others play.
type Parts struct {
	Workloads bool // ReplicaSets, StatefulSets and Jobs; the world schedules the pods that these create
	PodGC     bool
	// Drain drains a node that has been cordoned. If it is nil, the world does, as it always does for a roll.
	Drain func(Drain)

	World // the world sets it before it makes its controllers
}

// Drain is what somebody does to a node.
type Drain struct {
	Node           string
	Timeout        time.Duration // 0 means none
	Bare, EmptyDir bool          // it evicts such pods
	Force          bool          // after the timeout it deletes what is left
}

// World is what they do in the world. Nothing happens to a pod that does not exist, or is on no node.
type World interface {
	// Create makes a pod wait for the scheduler, as of that time. It takes the place of another one unless instead is empty. Of
	// the pods of one time, those with a lower rank come first.
	Create(pod *v1.Pod, instead string, since time.Duration, rank int) error
	// Withdraw ends that: the pod is gone before it was on a node.
	Withdraw(pod types.NamespacedName)
	// Delete begins a deletion, which the pod's kubelet ends. ForceDelete removes the object at once.
	Delete(pod types.NamespacedName)
	ForceDelete(pod types.NamespacedName)
	// Collect removes a pod as garbage.
	Collect(pod types.NamespacedName)
	// Drained deletes a pod for the drain of its node, by force if that no longer asks budgets.
	Drained(pod types.NamespacedName, force bool)
	// DrainEnds tells how a drain has ended: as a simulation.StuckDrain does, or with "" if it is over. With
	// simulation.DrainForced it goes on.
	DrainEnds(node, how, why string)
	// JobFails says that a Job has failed, because that many pods have, and creates none any more.
	JobFails(job types.NamespacedName, failed int)
	// Reach fails while the API is down.
	Reach() error
}

type key struct{}

// With returns a context for simulation.Play, in whose world others play these parts.
func With(ctx context.Context, parts *Parts) context.Context {
	return context.WithValue(ctx, key{}, parts)
}

// From returns the parts that others play: none, unless With has said so.
func From(ctx context.Context) *Parts {
	if parts, ok := ctx.Value(key{}).(*Parts); ok {
		return parts
	}
	return &Parts{}
}
