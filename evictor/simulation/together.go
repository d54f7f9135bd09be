package simulation

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/together"
)

// leavers are the pods that leave together, as of one instant.
type leavers struct {
	world   *World
	at      time.Time
	members map[labelled][]evictor.PodKey
}

// labelled are the pods of a namespace with that value of a label.
type labelled struct{ namespace, label, value string }

// ClientsFor returns the Clients for an evictor with these options that NewEvictor does not make. With Scenario.Together
// their PodWriter evicts groups.
func (w *World) ClientsFor(options evictor.Options) evictor.Clients {
	clients := w.Clients()
	w.hold = options.Hold
	if len(w.player.scenario.Together) == 0 {
		return clients
	}
	g := &leavers{world: w}
	clients.PodWriter = &together.Writer{
		PodWriter: clients.PodWriter, Nodes: clients.Nodes, Pods: clients.Pods, Group: g.with, Gate: options.Gate, Domain: options.Domain,
		Check: w.player.writer.check, Clock: options.Clock,
		Held: func(node string) (reason string) {
			if object, ok := clients.Nodes.Node(node); ok && options.Hold != nil {
				if why, held := options.Hold(object); held {
					reason = cmp.Or(why, "held")
				}
			}
			return reason
		},
		Observer: func(d evictor.PodDecision) {
			if options.Observer != nil {
				options.Observer.ObservePod(d)
			}
		},
	}
	return clients
}

// with returns the pods of the pod's group. A pod that was created at this instant may be missing, and is no member.
func (g *leavers) with(pod *v1.Pod) []evictor.PodKey {
	of, some := g.of(pod)
	if !some {
		return nil
	}
	if now := g.world.Clock().Now(); g.members == nil || !now.Equal(g.at) {
		g.at, g.members = now, make(map[labelled][]evictor.PodKey)
		stores := g.world.Clients()
		for node := range stores.Nodes.Nodes {
			stores.Pods.PodsOnNode(node.Name, func(pod *v1.Pod) bool {
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
		if !p.cluster.hadLabel(label) {
			p.report.Warnings = append(p.report.Warnings, fmt.Sprintf("together %d: no pod has the label %s", i+1, label))
		}
	}
}

// hadLabel says whether a pod has had a value for a label.
func (c *cluster) hadLabel(label string) bool {
	for _, set := range c.labelSets {
		if set.set().Get(label) != "" {
			return true
		}
	}
	return false
}
