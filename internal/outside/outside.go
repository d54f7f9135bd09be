// Package outside is the door through which others play parts of a simulated world in place of evictor/simulation.
// Kubernetes' own controllers do so in internal/conformance/twins. Whoever plays a scenario without this package gets the
// whole world.
package outside

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Parts says which parts of a world others play.
type Parts struct {
	Workloads bool // ReplicaSets, StatefulSets and Jobs, and the scheduler of their pods
	PodGC     bool

	// Bind puts a pod that others have created on a node, as the scheduler does. It runs and is Ready at once, unless the
	// node's kubelet does not reach the API. The world sets it before it makes its controllers.
	Bind func(pod *v1.Pod, node string) error
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
