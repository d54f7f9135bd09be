package simulation

import (
	"errors"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// happen plays one event. If it returns an error, nothing has happened.
func (p *player) happen(e *Planned) (err error) {
	switch {
	case e.AddNode != nil:
		err = p.addNode(e.AddNode)
	case e.AddPod != nil:
		err = p.addPod(e.AddPod)
	case e.deletes() != nil:
		err = p.deletePod(e)
	case e.API != nil:
		p.api(e.API)
	default:
		err = p.toNodes(e)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Actions()[0], err)
	}
	return nil
}

// deletePod deletes a pod. In a scenario it may have been evicted meanwhile, so that there is nothing to delete.
func (p *player) deletePod(e *Planned) error {
	namespace, name := splitPodName(e.deletes().Name)
	key, remove := evictor.PodKey{Namespace: namespace, Name: name}, p.cluster.DeletePod
	if e.ForceDelete != nil {
		remove = p.cluster.ForceDeletePod
	}
	if !remove(key) && e.Number < 0 {
		return fmt.Errorf("pod %s does not exist", key)
	}
	return nil
}

// toNodes plays an event that chooses nodes.
func (p *player) toNodes(e *Planned) error {
	c := p.cluster
	exists := func(*node) bool { return true }
	switch {
	case e.Fail != nil:
		return p.choose(e, func(n *node) bool { return !n.failed || n.parted }, c.Fail)
	case e.Recover != nil:
		return p.choose(e, func(n *node) bool { return n.failed }, c.Recover)
	case e.Partition != nil:
		reach := int(math.Round(e.Partition.reach() * whole))
		return p.choose(e, func(n *node) bool { return !n.failed }, func(name string) bool { return c.Part(name, reach) })
	case e.Condition != nil:
		for _, name := range e.Condition.Names {
			if i, ok := c.nodeByID[name]; ok && c.nodes[i].failed && findCondition(healthy, e.Condition.Type) >= 0 {
				return fmt.Errorf("node %s has failed: only a live kubelet reports conditions", name)
			}
		}
		reports := func(name string) bool {
			return c.SetCondition(name, e.Condition.Type, e.Condition.Status)
		}
		return p.choose(e, func(n *node) bool { return !n.failed }, reports)
	case e.Taint != nil:
		taint := v1.Taint{Key: e.Taint.Key, Value: e.Taint.Value, Effect: e.Taint.Effect}
		lacks := func(n *node) bool {
			return !slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) && t.Value == taint.Value })
		}
		return p.choose(e, lacks, func(name string) bool { return c.SetTaint(name, taint) })
	case e.Untaint != nil:
		taint := v1.Taint{Key: e.Untaint.Key, Effect: e.Untaint.Effect}
		has := func(n *node) bool {
			return slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) })
		}
		return p.choose(e, has, func(name string) bool { return c.RemoveTaint(name, taint.Key, taint.Effect) })
	case e.Cordon != nil:
		return p.choose(e, func(n *node) bool { return !n.unschedulable }, func(name string) bool { return c.Cordon(name, true) })
	case e.Uncordon != nil:
		return p.choose(e, func(n *node) bool { return n.unschedulable }, func(name string) bool { return c.Cordon(name, false) })
	case e.Drain != nil:
		return p.choose(e, func(n *node) bool { return !n.unschedulable }, p.drain)
	case e.OutOfService != nil:
		has := func(n *node) bool { return c.outOfService[c.nodeByID[n.name]] }
		taint := v1.Taint{Key: taintOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute}
		return p.choose(e, func(n *node) bool { return !has(n) }, func(name string) bool { return c.SetTaint(name, taint) })
	case e.LoseLeases != nil:
		return p.choose(e, func(n *node) bool { return !n.unseen }, func(name string) bool { return c.LoseLeases(name, e.LoseLeases.ShowAfter) })
	case e.ShowLeases != nil:
		return p.choose(e, func(n *node) bool { return n.unseen }, c.ShowLeases)
	case e.ReplaceNode != nil:
		return p.replaceNode(e)
	case e.Roll != nil:
		return p.startRoll(e)
	case e.DeleteNode != nil:
		defer p.remember()
		return p.choose(e, exists, c.DeleteNode)
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

// choose calls do for the nodes that an event selects: for those that it names, or among several for those that qualify,
// as many as it takes. If something is wrong with the selection, it calls do for none.
func (p *player) choose(e *Planned, qualifies func(*node) bool, do func(name string) bool) error {
	var f faults
	names := p.selected(&f, e.Event)
	if len(f) > 0 {
		return errors.Join(f...)
	}
	s, left := e.nodes(), len(names)
	if s.several() {
		names, left = s.order(names, e.draw()), s.most(left)
	}
	for _, name := range names {
		if left > 0 && (!s.several() || qualifies(&p.cluster.nodes[p.cluster.nodeByID[name]])) {
			left--
			if do(name) {
				p.touch(name)
			}
		}
	}
	return nil
}

// selected returns the names of the nodes that an event selects now, and reports what is wrong with the selection.
func (p *player) selected(f *faults, e *Event) (names []string) {
	if s := e.nodes(); s.several() {
		names = p.among(f, s)
	} else {
		names = p.named(f, s.Names)
	}
	if e.Fail == nil && e.Recover == nil && e.Partition == nil {
		return names
	}
	for i := range p.traces {
		for _, name := range names {
			if key := p.traces[i].key; p.cluster.nodes[p.cluster.nodeByID[name]].zone == key {
				f.add("node %s is in zone %q, which is driven by a trace", name, key)
				break // one is enough
			}
		}
	}
	return names
}

// named returns the names, each once, and reports those of nodes that do not exist.
func (p *player) named(f *faults, all []string) (names []string) {
	seen := make(map[string]bool, len(all))
	for _, name := range all {
		_, exists := p.cluster.nodeByID[name]
		switch {
		case name == "":
			f.add("node is missing")
		case !exists:
			f.add("node %s does not exist", name)
		case !seen[name]:
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// among returns the sorted names of the nodes of the zone, with those labels, or both, and reports if there are none with
// the labels, or too few.
func (p *player) among(f *faults, s *Nodes) (names []string) {
	c := p.cluster
	selector, err := labels.Parse(s.Labels)
	var key zone.Key
	if err == nil && s.Zone != "" {
		key, err = p.zone(s.Zone)
	}
	if err != nil {
		f.add("%w", err)
		return nil
	}
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted && (s.Zone == "" || n.zone == key) && selector.Matches(labels.Set(n.labels)) {
			names = append(names, n.name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 0 && !selector.Empty():
		f.add("selector %q matches no node", s.Labels)
	case s.Count > len(names):
		f.add("count: %s: there are only %d", s, len(names))
	}
	return names
}
