package placement

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// spread returns constraints, of which a topology key and whether it is required occur once.
func (g generator) spread() (all []v1.TopologySpreadConstraint) {
	for _, topology := range g.some(topologies) {
		t := v1.TopologySpreadConstraint{
			TopologyKey: topology, MaxSkew: int32(1 + g.IntN(2)), WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: g.labelSelector(),
		}
		if g.one(60) { // the usual case
			t.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: pick(g, apps...)}}
		}
		if g.one(10) {
			t.WhenUnsatisfiable = v1.ScheduleAnyway
		}
		if t.WhenUnsatisfiable == v1.DoNotSchedule && g.one(25) {
			t.MinDomains = new(int32(1 + g.IntN(5)))
		}
		if g.one(40) {
			t.NodeAffinityPolicy = new(pick(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if g.one(40) {
			t.NodeTaintsPolicy = new(pick(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if t.LabelSelector != nil && g.one(20) {
			t.MatchLabelKeys = []string{pick(g, "tier", "nobody-has-it")}
		}
		all = append(all, t)
	}
	return all
}
