package simulation

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// setRules is what the object of a StatefulSet says about its ordinals. A set whose object is not known has the zero rules,
// which are the defaults.
type setRules struct {
	parallel bool // there is no order
	start    int  // the first
	end      int  // the first that is too many; 0 if that is not known: then pods say how many there are
}

// ordinalOf returns the ordinal of a StatefulSet's pod, negative if it has none.
func (s *podSpec) ordinalOf(name string) int {
	text, ok := strings.CutPrefix(name, s.OwnerName+"-")
	ordinal, err := strconv.Atoi(text)
	if s.OwnerKind != "StatefulSet" || !ok || err != nil {
		return -1
	}
	return ordinal
}

// unwanted says whether a pod has an ordinal that its StatefulSet does not want, so that it does not come back.
func (c *cluster) unwanted(s *podSpec, id podID) bool {
	if len(c.setRules) == 0 || s.OwnerKind != "StatefulSet" {
		return false
	}
	ordinal, set := s.ordinalOf(id.name), c.setRules[podID{id.space, s.OwnerName}]
	return ordinal >= 0 && (ordinal < set.start || set.end > 0 && ordinal >= set.end)
}

// orderedBy returns the StatefulSet that makes a pod in order, by its ordinal, if a controller does.
func (c *cluster) orderedBy(s *podSpec, id podID) (set podID, ordinal int, ok bool) {
	if c.setController == nil || s.OwnerKind != "StatefulSet" {
		return set, 0, false
	}
	ordinal, set = s.ordinalOf(id.name), podID{id.space, s.OwnerName}
	return set, ordinal, ordinal >= 0 && !c.setRules[set].parallel
}

// knowSet records what the object of a StatefulSet says.
func (c *cluster) knowSet(set *appsv1.StatefulSet) {
	rules := setRules{parallel: set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement, start: firstOrdinal(set)}
	if replicas := set.Spec.Replicas; replicas != nil && *replicas > 0 {
		rules.end = rules.start + int(*replicas)
	}
	c.setRules[podID{c.space(inDefault(set.Namespace)), set.Name}] = rules
}

// appears tells the pod's StatefulSet that it is on a node now.
func (c *cluster) appears(p *pod) {
	if set, ordinal, ok := c.orderedBy(p.spec, p.id); ok {
		c.setController.Bound(set, ordinal)
	}
}

// awaits queues a pod that waits for a node. If it is not created yet, it may have to wait for others of its set first.
func (c *cluster) awaits(b comeback) {
	set, ordinal, ordered := c.orderedBy(b.spec, c.id(b.key))
	switch {
	case !ordered:
		c.waiting.add(b)
	case b.fresh && !b.made:
		c.setController.Unbound(set, ordinal)
		c.waiting.add(b)
	default:
		c.setController.Lost(set, ordinal, b)
	}
}

// goesOn tells the pod's StatefulSet that it has become Ready, or has ended.
func (c *cluster) goesOn(i int32, by int) {
	if c.setController.Waiting() == 0 || by < 0 {
		return
	}
	if set, _, ok := c.orderedBy(c.pods[i].spec, c.pods[i].id); ok {
		c.setController.Changed(set)
	}
}
