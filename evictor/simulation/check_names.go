package simulation

import (
	"slices"
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

func additionsOf(events []Planned) additions {
	a := additions{nodes: make(map[string]bool), pods: make(map[string]bool)}
	for i := range events {
		switch e := &events[i]; {
		case e.Round > 1:
		case e.AddNode != nil:
			n := e.AddNode.fields()
			a.nodes[n.Name] = true
			a.zones = append(a.zones, zone.Key{Region: n.Region, Zone: n.Zone})
		case e.AddPod != nil:
			a.pods[e.AddPod.Name] = true
		}
	}
	return a
}

// checkNames reports nodes, pods and zones that do not exist at time 0 and that no event adds. If no event adds a node, it
// reports all that is wrong with the selection of nodes.
func (p *player) checkNames(f faults, e *Event, added *additions) {
	a := e.does()
	switch of := a.nodes; {
	case e.deletes() != nil:
		p.checkPod(f, e.deletes().Name, added)
	case e.AddPod != nil:
		p.known(f.at("", "node"), e.AddPod.Node, added.nodes)
	case of == nil || !of.check(newFaults()): // reported already
	case len(added.nodes) == 0:
		p.selected(f, &a)
	case !of.several():
		for i, name := range of.Names {
			p.known(f.at("", "nodes", item(i)), name, added.nodes)
		}
	case of.Zone != "" && !slices.ContainsFunc(added.zones, func(key zone.Key) bool { return of.Zone == key.Zone || of.Zone == key.String() }):
		if _, err := p.zone(of.Zone); err != nil {
			f.at("", "zone").add("%w", err)
		}
	}
}

// podNames yields the pods' names, as events name them.
func (c *cluster) podNames(yield func(string) bool) {
	for i := range c.nodes {
		for _, key := range c.SortedPods(c.nodes[i].name) {
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
