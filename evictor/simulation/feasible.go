package simulation

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// feasible returns the names, in order, of the nodes on which such a pod could come back now, whatever node the object
// is bound to, and the one that it would come back on; "" if there is none.
func (c *cluster) feasible(object *v1.Pod) (names []string, best string) {
	c.indexLoad()
	c.bindClaims()
	claims, _ := claimsOf(&object.Spec)
	needs, _ := c.withVolumes(c.needsOf(object), c.space(object.Namespace), claims)
	s := c.spec(podSpec{Tolerations: object.Spec.Tolerations, needs: needs, labels: c.labelsOf(&object.ObjectMeta)})
	if i, ok := c.load.best(c, s, object.Namespace); ok {
		best = c.nodes[i].name
	}
	rule := c.load.rule(c, s)
	for _, g := range c.load.groups {
		for _, i := range g.heap {
			if g.matches[rule] == '1' && c.load.fits(c, i, s, object.Namespace) {
				names = append(names, c.nodes[i].name)
			}
		}
	}
	slices.Sort(names)
	return names, best
}
