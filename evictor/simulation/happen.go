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
	c := p.cluster
	namespace, name := splitPodName(e.deletes().Name)
	i, exists := c.findPod(evictor.PodKey{Namespace: namespace, Name: name})
	switch {
	case !exists && e.Number < 0:
		return fmt.Errorf("pod %s does not exist", e.deletes().Name)
	case !exists:
	case e.ForceDelete != nil:
		c.takeAway(i)
	default:
		c.deletePod(i)
	}
	return nil
}

// toNodes plays an event that chooses nodes.
func (p *player) toNodes(e *Planned) error {
	c := p.cluster
	isLive := func(n *node) bool { return !n.failed }
	isCordoned := func(n *node) bool { return n.unschedulable }
	isOpen := func(n *node) bool { return !n.unschedulable }
	switch {
	case e.Fail != nil:
		return p.choose(e, func(n *node) bool { return !n.failed || n.parted }, func(n *node) { c.Fail(n) })
	case e.Recover != nil:
		return p.choose(e, func(n *node) bool { return n.failed }, func(n *node) { c.Recover(n) })
	case e.Partition != nil:
		reach := int(math.Round(e.Partition.reach() * whole))
		return p.choose(e, isLive, func(n *node) { c.Part(n, reach) })
	case e.Condition != nil:
		if err := p.mayReport(e.Condition); err != nil {
			return err
		}
		return p.choose(e, func(n *node) bool { return n.news(e.Condition) }, func(n *node) { c.SetCondition(n, e.Condition.Type, e.Condition.Status) })
	case e.Taint != nil:
		taint := v1.Taint{Key: e.Taint.Key, Value: e.Taint.Value, Effect: e.Taint.Effect}
		lacks := func(n *node) bool {
			return !slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) && t.Value == taint.Value })
		}
		return p.choose(e, lacks, func(n *node) { c.SetTaint(n, taint) })
	case e.OutOfService != nil:
		taint := v1.Taint{Key: taintOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute}
		return p.choose(e, func(n *node) bool { return !c.outOfService[c.nodeByID[n.name]] }, func(n *node) { c.SetTaint(n, taint) })
	case e.Untaint != nil:
		key, effect := e.Untaint.Key, e.Untaint.Effect
		has := func(n *node) bool {
			return slices.ContainsFunc(n.taints, func(t v1.Taint) bool { return t.Key == key && t.Effect == effect })
		}
		return p.choose(e, has, func(n *node) { c.RemoveTaint(n, key, effect) })
	case e.Cordon != nil:
		return p.choose(e, isOpen, func(n *node) { c.Cordon(n, true) })
	case e.Uncordon != nil:
		return p.choose(e, isCordoned, func(n *node) { c.Cordon(n, false) })
	case e.Drain != nil:
		return p.choose(e, p.canDrain, func(n *node) { p.drain(n, e) })
	case e.LoseLeases != nil:
		later := int64(e.LoseLeases.ShowAfter)
		return p.choose(e, func(n *node) bool { return !n.unseen || n.later != later }, func(n *node) { n.unseen, n.later, c.loses = true, later, true })
	case e.ShowLeases != nil:
		return p.choose(e, func(n *node) bool { return n.unseen }, func(n *node) { n.unseen, n.later = false, 0 })
	case e.ReplaceNode != nil:
		return p.replaceNode(e)
	case e.Roll != nil:
		return p.startRoll(e)
	case e.DeleteNode != nil:
		defer p.remember()
		return p.choose(e, nil, c.DeleteNode)
	}
	return nil
}

// api changes how the API answers.
func (p *player) api(a *API) {
	ours, kubelets := a.covers()
	if ours {
		if p.stalled() && a.State != APIDown {
			p.cluster.standStill(int64(p.guard.broken))
		}
		p.apiDown, p.writer.latency, p.answer = a.State == APIDown, a.Latency, a.Answer
	}
	if kubelets {
		p.cluster.KubeletsReach(a.State == APIDown, a.Latency)
	}
	if ours {
		p.watchesBreak(p.apiDown)
		p.leader.answers(p, p.cluster.Clock.Elapsed())
	}
}

// mayReport returns an error if a condition is the kubelet's, and a node that the event names has failed.
func (p *player) mayReport(e *Condition) error {
	for _, name := range e.Names {
		if p.cluster.Failed(name) && findCondition(healthy, e.Type) >= 0 {
			return fmt.Errorf("node %s has failed: only a live kubelet reports conditions", name)
		}
	}
	return nil
}

// choose calls do for the nodes that an event selects: those that it names, or among several those that qualify, as many as
// it takes; all do if qualifies is nil. A kubelet that is named must qualify too: it may be in that state already. If
// something is wrong with the selection, it calls do for none.
func (p *player) choose(e *Planned, qualifies func(*node) bool, do func(*node)) error {
	f := newFaults()
	names := p.selected(f, e.Event)
	if !f.none() {
		return f.invalid()
	}
	s, left := e.nodes(), len(names)
	if s.several() {
		names, left = s.order(names, e.draw()), s.most(left)
	} else if !e.stopsOrStarts() {
		qualifies = nil
	}
	for _, name := range names {
		n := &p.cluster.nodes[p.cluster.nodeByID[name]]
		if left > 0 && (qualifies == nil || qualifies(n)) {
			left--
			do(n)
			p.touch(name)
		}
	}
	return nil
}

// stopsOrStarts says whether the event decides which kubelets are live.
func (e *Event) stopsOrStarts() bool { return e.Fail != nil || e.Recover != nil || e.Partition != nil }

// selected returns the names of the nodes that an event selects now, and reports what is wrong with the selection.
func (p *player) selected(f faults, e *Event) (names []string) {
	if s := e.nodes(); s.several() {
		names = p.among(f, s)
	} else {
		names = p.named(f, s.Names)
	}
	if !e.stopsOrStarts() {
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
func (p *player) named(f faults, all []string) (names []string) {
	seen := make(map[string]bool, len(all))
	for i, name := range all {
		if p.known(f.at("", "nodes", item(i)), name, nil) && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// names yields the nodes' names.
func (c *cluster) names(yield func(string) bool) {
	for i := range c.nodes {
		if n := &c.nodes[i]; !n.deleted && !yield(n.name) {
			return
		}
	}
}

// known says whether a node exists, or is one of others, and reports if it is not.
func (p *player) known(f faults, name string, others map[string]bool) bool {
	_, exists := p.cluster.nodeByID[name]
	switch {
	case name == "":
		f.add("node is missing")
	case !exists && !others[name]:
		f.unknown("node", name, p.cluster.names)
	default:
		return true
	}
	return false
}

// among returns the sorted names of the nodes of the zone, with those labels, or both, and reports if there are none with
// the labels, or too few.
func (p *player) among(f faults, s *Nodes) (names []string) {
	c := p.cluster
	selector, err := labels.Parse(s.Labels)
	var key zone.Key
	if err == nil && s.Zone != "" {
		key, err = p.zone(s.Zone)
	}
	if err != nil {
		f.at("", "zone").add("%w", err)
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
		f.at("", "selector").add("selector %q matches no node", s.Labels)
	case s.Count > len(names):
		f.in("count").add("%s: there are only %d", s, len(names))
	}
	return names
}
