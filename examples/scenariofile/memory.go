package scenariofile

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/examples/objects"
	"github.com/evictkit/evictkit/internal/simulator"
)

// Objects are the objects of files in memory, for several clusters.
type Objects struct {
	nodes, others []objects.Object
	kinds         map[string]int
}

// LoadObjects reads the objects of files.
func LoadObjects(ctx context.Context, files []string) (*Objects, error) {
	o := &Objects{}
	r := reader{ctx: ctx}
	for _, file := range files {
		count, err := r.stream(file, func(object objects.Object) error {
			if object.Node != nil {
				o.nodes = append(o.nodes, object)
			} else {
				o.others = append(o.others, object)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for kind, n := range count.Kinds {
			if o.kinds == nil {
				o.kinds = make(map[string]int)
			}
			o.kinds[kind] += n
		}
	}
	return o, nil
}

// Nodes yields the nodes.
func (o *Objects) Nodes(yield func(*v1.Node) bool) {
	for i := range o.nodes {
		if !yield(o.nodes[i].Node) {
			return
		}
	}
}

// Pods yields the pods.
func (o *Objects) Pods(yield func(*v1.Pod) bool) {
	for i := range o.others {
		if pod := o.others[i].Pod; pod != nil && !yield(pod) {
			return
		}
	}
}

// Fill fills a cluster, as ReadObjects does. change, if not nil, returns the pod to add in place of each; it must not change
// the pod itself. Several clusters may be filled at the same time.
func (o *Objects) Fill(ctx context.Context, c *simulator.Cluster, change func(*v1.Pod) *v1.Pod) (Left, error) {
	r := reader{ctx: ctx, cluster: c, left: Left{Kinds: o.kinds}}
	for _, list := range [][]objects.Object{o.nodes, o.others} {
		for _, object := range list {
			if object.Pod != nil && change != nil {
				object.Pod = change(object.Pod)
			}
			if err := r.take(object); err != nil {
				return Left{}, err
			}
		}
	}
	_, err := r.early.each(ctx, r.bind)
	return r.left, err
}
