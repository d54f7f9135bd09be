package simulation

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
)

// leavers are the pods that leave together, as of one instant.
type leavers struct {
	world   *World
	stores  evictor.Clients
	at      time.Time
	members map[labelled][]evictor.PodKey
}

// labelled are the pods of a namespace with that value of a label.
type labelled struct{ namespace, label, value string }

// with returns the pods of the pod's group. A pod that was created at this instant may be missing, and is no member.
func (g *leavers) with(pod *v1.Pod) []evictor.PodKey {
	of, some := g.of(pod)
	if !some {
		return nil
	}
	if now := g.world.player.cluster.Clock.Now(); g.members == nil || !now.Equal(g.at) {
		g.at, g.members = now, make(map[labelled][]evictor.PodKey)
		for node := range g.stores.Nodes.Nodes {
			g.stores.Pods.PodsOnNode(node.Name, func(pod *v1.Pod) bool {
				if of, some := g.of(pod); some {
					g.members[of] = append(g.members[of], evictor.PodKey{Namespace: pod.Namespace, Name: pod.Name})
				}
				return true
			})
		}
	}
	return g.members[of]
}

func (g *leavers) of(pod *v1.Pod) (of labelled, some bool) {
	for _, label := range g.world.player.scenario.Together {
		if value := pod.Labels[label]; value != "" {
			return labelled{pod.Namespace, label, value}, true
		}
	}
	return of, false
}

// warnOfLabels notes the labels by which no pod leaves together, because none has had them.
func (p *player) warnOfLabels() {
	for i, label := range p.scenario.Together {
		if !p.cluster.filters.HadLabel(label) {
			p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("together %d: no pod has the label %s", i+1, label))
		}
	}
}
