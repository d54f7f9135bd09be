package simulation

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/together"
	"github.com/evictkit/evictkit/taints"
)

// groups tells which pod is condemned while its group leaves.
type groups struct {
	*together.Writer
	told *teller
}

func (g groups) Evict(ctx context.Context, pod evictor.PodRef, why taints.Deadline) error {
	g.told.condemned = pod.PodKey
	defer func() { g.told.condemned = evictor.PodKey{} }()
	return g.Writer.Evict(ctx, pod, why)
}

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
	return g.world.player.scenario.group(pod.Namespace, pod.Labels)
}

// group returns the group of a pod with these labels.
func (s *Scenario) group(namespace string, labels map[string]string) (of labelled, some bool) {
	for _, label := range s.Together {
		if value := labels[label]; value != "" {
			return labelled{namespace, label, value}, true
		}
	}
	return of, false
}

// stayingGroups are those of which a pod may not leave, because its node is held or its disruption budget refuses.
func (p *player) stayingGroups() map[labelled]bool {
	c, staying := p.cluster, make(map[labelled]bool)
	for i := range c.pods {
		pod := &c.pods[i]
		if pod.booked.traits&loads == 0 || pod.booked.traits&completed != 0 {
			continue // it has left, or never leaves
		}
		if of := p.groupOf(pod); of != (labelled{}) && !staying[of] {
			staying[of] = p.world.holds(c, pod.node) != "" || p.scenario.AskBudgets && c.refusal(int32(i)) != nil //nolint:gosec // few
		}
	}
	return staying
}

// groupOf is the pod's group; no pod's is the zero one.
func (p *player) groupOf(pod *pod) labelled {
	of, _ := p.scenario.group(p.cluster.spaces[pod.id.space], pod.spec.Labels.Set())
	return of
}

// warnOfLabels notes the labels by which no pod leaves together, because none has had them.
func (p *player) warnOfLabels() {
	for i, label := range p.scenario.Together {
		if !p.cluster.filters.HadLabel(label) {
			p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("together %d: no pod has the label %s", i+1, label))
		}
	}
}
