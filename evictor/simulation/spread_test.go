package simulation

import (
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/taints"
)

// randomSpread has few variants, so that pods share what is counted.
func randomSpread(r *rand.Rand) (all []v1.TopologySpreadConstraint) {
	for _, topology := range [][]string{{v1.LabelTopologyZone}, {"pool"}, {v1.LabelTopologyZone, "pool"}}[r.Intn(3)] {
		t := v1.TopologySpreadConstraint{
			MaxSkew: int32(1 + r.Intn(2)), TopologyKey: topology, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(r.Intn(3))}},
		}
		if r.Intn(3) == 0 {
			honor, ignore := v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
			t.NodeAffinityPolicy, t.NodeTaintsPolicy = &ignore, &honor
		}
		if r.Intn(4) == 0 {
			t.MinDomains = ptr(int32(3))
		}
		if r.Intn(8) == 0 {
			t.LabelSelector = &metav1.LabelSelector{}
		}
		all = append(all, t)
	}
	return all
}

// spread counts the pods of every domain anew.
func (m *model) spread(node *v1.Node, p *v1.Pod) bool {
	all := p.Spec.TopologySpreadConstraints
	for i := range all {
		t := &all[i]
		if _, ok := node.Labels[t.TopologyKey]; !ok {
			return false
		}
		domains := make(map[string]int)
		m.c.Nodes(func(n *v1.Node) bool {
			for k := range all {
				if _, ok := n.Labels[all[k].TopologyKey]; !ok {
					return true
				}
			}
			if t.NodeAffinityPolicy == nil && !m.selected(n, p) || t.NodeTaintsPolicy != nil && !m.open(n, p) {
				return true
			}
			domain := n.Labels[t.TopologyKey]
			domains[domain] += 0
			m.c.PodsOnNode(n.Name, func(q *v1.Pod) bool {
				written := m.pods[q.Namespace+"/"+q.Name]
				finished := q.Status.Phase == v1.PodSucceeded || q.Status.Phase == v1.PodFailed
				if !finished && q.DeletionTimestamp == nil && q.Namespace == p.Namespace && len(t.LabelSelector.MatchLabels) > 0 && labeled(t, written) {
					domains[domain]++
				}
				return true
			})
			return true
		})
		least := -1
		for _, pods := range domains {
			if least < 0 || pods < least {
				least = pods
			}
		}
		if t.MinDomains != nil && len(domains) < int(*t.MinDomains) {
			least = 0
		}
		pods := domains[node.Labels[t.TopologyKey]] - max(least, 0)
		if labeled(t, p) {
			pods++
		}
		if pods > int(t.MaxSkew) {
			return false
		}
	}
	return true
}

func labeled(t *v1.TopologySpreadConstraint, p *v1.Pod) bool {
	for key, value := range t.LabelSelector.MatchLabels {
		if p.Labels[key] != value {
			return false
		}
	}
	return true
}

// open says whether a pod tolerates the state of a node.
func (m *model) open(n *v1.Node, p *v1.Pod) bool {
	_, not := taints.Untolerated(present(n), p.Spec.Tolerations, false)
	return !not
}
