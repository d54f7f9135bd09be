package simulation

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/zone"
)

// additions are what events add, at any time.
type additions struct {
	nodes map[string]bool
	pods  map[string]bool // in namespace default, without those of added nodes
	zones []zone.Key      // of the nodes
}

// podNames yields the pods' names, as events name them.
func (c *cluster) podNames(yield func(string) bool) {
	for i := range c.nodes {
		for _, key := range c.SortedPods(c.nodes[i].Name) {
			if !yield(joinPodName(key.Namespace, key.Name)) {
				return
			}
		}
	}
}

// checkPod reports a pod that never exists. A pod that comes back has another name.
func (p *player) checkPod(f faults, pod string, added *additions) {
	namespace, name := splitPodName(pod)
	exists := func(name string) bool {
		if held := p.cluster.holds(namespace, name); held || namespace != v1.NamespaceDefault {
			return held
		}
		dash := strings.LastIndexByte(name, '-')
		return added.pods[name] || dash >= 0 && added.nodes[name[:dash]]
	}
	if name != "" && !exists(name) && (p.scenario.ReplaceAfter < 0 || !exists(reborn.ReplaceAllString(name, ""))) {
		f.at("", "name").unknown("pod", pod, p.cluster.podNames)
	}
}
