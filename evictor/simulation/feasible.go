package simulation

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// feasible returns the names, in order, of the nodes on which such a pod could come back now, whatever node the object
// is bound to, and the one that it would come back on; "" if there is none.
func (c *cluster) feasible(object *v1.Pod) (names []string, best string) {
	f := c.filters
	f.Index()
	c.bindClaims()
	claims, _ := placement.ClaimsOf(&object.Spec)
	needs, _ := f.WithVolumes(f.NeedsOf(object), object.Namespace, claims)
	s := c.spec(podSpec{Spec: placement.Spec{Tolerations: object.Spec.Tolerations, Needs: needs, Labels: f.LabelsOf(&object.ObjectMeta)}})
	if i, ok := f.Best(&s.Spec, object.Namespace); ok {
		best = c.nodes[i].Name
	}
	return f.Feasible(&s.Spec, object.Namespace), best
}
