package simulation

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// happen plays one event.
func (p *player) happen(e *Planned) error {
	c := p.cluster
	switch {
	case e.AddNode != nil:
		return p.addNode(e.AddNode)
	case e.AddPod != nil:
		return p.addPod(e.AddPod)
	case e.DeletePod != nil:
		namespace, name := splitPodName(e.DeletePod.Name)
		c.DeletePod(evictor.PodKey{Namespace: namespace, Name: name}) // if it was evicted meanwhile there is nothing to delete
	case e.ForceDelete != nil:
		namespace, name := splitPodName(e.ForceDelete.Name)
		c.ForceDeletePod(evictor.PodKey{Namespace: namespace, Name: name})
	case e.API != nil:
		p.api(e.API)
	default:
		return p.toNodes(e)
	}
	return nil
}

// toNodes plays an event that chooses nodes.
func (p *player) toNodes(e *Planned) error {
	c := p.cluster
	exists := func(*node) bool { return true }
	switch {
	case e.Fail != nil:
		return p.choose(e, e.Fail, func(n *node) bool { return !n.failed || n.parted }, c.Fail)
	case e.Recover != nil:
		return p.choose(e, e.Recover, func(n *node) bool { return n.failed }, c.Recover)
	case e.Partition != nil:
		reach := int(math.Round(e.Partition.reach() * whole))
		return p.choose(e, &e.Partition.Nodes, func(n *node) bool { return !n.failed }, func(name string) bool { return c.Part(name, reach) })
	case e.Condition != nil:
		reports := func(name string) bool {
			return c.SetCondition(name, e.Condition.Type, e.Condition.Status)
		}
		return p.choose(e, &e.Condition.Nodes, func(n *node) bool { return !n.failed }, reports)
	case e.Taint != nil:
		taint := v1.Taint{Key: e.Taint.Key, Value: e.Taint.Value, Effect: e.Taint.Effect}
		lacks := func(n *node) bool {
			return !slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) && t.Value == taint.Value })
		}
		return p.choose(e, &e.Taint.Nodes, lacks, func(name string) bool { return c.SetTaint(name, taint) })
	case e.Untaint != nil:
		taint := v1.Taint{Key: e.Untaint.Key, Effect: e.Untaint.Effect}
		has := func(n *node) bool {
			return slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) })
		}
		return p.choose(e, &e.Untaint.Nodes, has, func(name string) bool { return c.RemoveTaint(name, taint.Key, taint.Effect) })
	case e.Cordon != nil:
		return p.choose(e, e.Cordon, func(n *node) bool { return !n.unschedulable }, func(name string) bool { return c.Cordon(name, true) })
	case e.Uncordon != nil:
		return p.choose(e, e.Uncordon, func(n *node) bool { return n.unschedulable }, func(name string) bool { return c.Cordon(name, false) })
	case e.Drain != nil:
		return p.choose(e, e.Drain, func(n *node) bool { return !n.unschedulable }, p.drain)
	case e.OutOfService != nil:
		has := func(n *node) bool { return c.outOfService[c.nodeByID[n.name]] }
		taint := v1.Taint{Key: taintOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute}
		return p.choose(e, e.OutOfService, func(n *node) bool { return !has(n) }, func(name string) bool { return c.SetTaint(name, taint) })
	case e.LoseLeases != nil:
		return p.choose(e, &e.LoseLeases.Nodes, func(n *node) bool { return !n.unseen }, func(name string) bool { return c.LoseLeases(name, e.LoseLeases.ShowAfter) })
	case e.ShowLeases != nil:
		return p.choose(e, e.ShowLeases, func(n *node) bool { return n.unseen }, c.ShowLeases)
	case e.ReplaceNode != nil:
		return p.replaceNode(e)
	case e.Roll != nil:
		return p.startRoll(e)
	case e.DeleteNode != nil:
		defer p.remember()
		return p.choose(e, e.DeleteNode, exists, c.DeleteNode)
	}
	return nil
}

// api changes how the API answers.
func (p *player) api(a *API) {
	ours, kubelets := a.covers()
	if ours {
		p.apiDown, p.writer.latency = a.State == APIDown, a.Latency
	}
	if kubelets {
		p.cluster.KubeletsReach(a.State == APIDown, a.Latency)
	}
}

// choose calls do for the nodes that a selector chooses: of several, among those that qualify. Nodes that it names must
// exist.
func (p *player) choose(e *Planned, s *Nodes, qualifies func(*node) bool, do func(name string) bool) error {
	if !s.several() {
		return p.named(e, s, do)
	}
	names, err := p.among(s)
	if err != nil {
		return err
	}
	left := s.most(len(names))
	for _, name := range s.order(names, e.draw()) {
		if left > 0 && qualifies(&p.cluster.nodes[p.cluster.nodeByID[name]]) {
			left--
			if do(name) {
				p.touch(name)
			}
		}
	}
	return nil
}

// named calls do for the nodes that a selector names.
func (p *player) named(e *Planned, s *Nodes, do func(name string) bool) error {
	names := s.Names
	mayFail := e.Fail != nil || e.Recover != nil || e.Partition != nil // and the node may be in that state already
	done := make(map[string]bool, len(names))
	for _, name := range names {
		if done[name] {
			continue
		}
		done[name] = true
		switch {
		case do(name):
			p.touch(name)
		case !mayFail:
			return fmt.Errorf("node %s does not exist or has failed", name)
		}
	}
	return nil
}

// among returns the sorted names of the nodes of the zone, with those labels, or both.
func (p *player) among(s *Nodes) ([]string, error) {
	c := p.cluster
	selector, err := labels.Parse(s.Labels)
	if err != nil {
		return nil, err
	}
	var key zone.Key
	if s.Zone != "" {
		if key, err = p.zone(s.Zone); err != nil {
			return nil, err
		}
	}
	var names []string
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted && (s.Zone == "" || n.zone == key) && selector.Matches(labels.Set(n.labels)) {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	return names, nil
}
