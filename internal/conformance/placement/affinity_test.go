package placement

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (g generator) affinity() *v1.Affinity {
	var a v1.Affinity
	if g.one(25) {
		required := &v1.NodeSelector{}
		for range 1 + g.IntN(2) {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, g.nodeTerm())
		}
		a.NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
	}
	if g.one(15) {
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: g.podTerms()}
	}
	if g.one(15) {
		a.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: g.podTerms()}
	}
	return &a
}

func (g generator) nodeTerm() (t v1.NodeSelectorTerm) {
	for g.one(55) {
		e := v1.NodeSelectorRequirement{
			Key: pick(g, poolLabel, v1.LabelTopologyZone, genLabel, v1.LabelHostname, "nobody-has-it"),
			Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist,
				v1.NodeSelectorOpGt, v1.NodeSelectorOpLt),
		}
		switch e.Operator {
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			e.Values = g.some([]string{"a", "b", "c", "small", "large", "gpu", "1", "2", "node-01", "node-02"})
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			e.Key, e.Values = genLabel, []string{pick(g, "0", "1", "2", "3")}
		}
		t.MatchExpressions = append(t.MatchExpressions, e)
	}
	for g.one(20) {
		t.MatchFields = append(t.MatchFields, v1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Operator: pick(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{nodeName(g.IntN(30))},
		})
	}
	return t // an empty one matches nothing
}

func (g generator) podTerms() (terms []v1.PodAffinityTerm) {
	for range 1 + g.IntN(2) {
		t := v1.PodAffinityTerm{TopologyKey: pick(g, topologies...), LabelSelector: g.labelSelector()}
		if g.one(25) {
			t.Namespaces = g.some(namespaces)
		}
		switch g.IntN(12) {
		case 0, 1:
			t.NamespaceSelector = &metav1.LabelSelector{}
		case 2:
			t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelMetadataName: pick(g, namespaces...)}}
		case 3:
			t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: v1.LabelMetadataName, Operator: pick(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn), Values: g.some(namespaces),
			}}}
		case 4:
			if g.one(40) {
				t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{teamLabel: pick(g, "red", "blue")}}
			}
		}
		terms = append(terms, t)
	}
	return terms
}

func (g generator) labelSelector() *metav1.LabelSelector {
	switch g.IntN(14) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2, 3, 4, 5:
		e := metav1.LabelSelectorRequirement{Key: pick(g, appLabel, "tier"), Operator: pick(g,
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if e.Operator == metav1.LabelSelectorOpIn || e.Operator == metav1.LabelSelectorOpNotIn {
			e.Values = g.some(append([]string{"front", "back"}, apps...))
		}
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{e}}
	default:
		return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: pick(g, apps...)}}
	}
}
