package simulation

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/zone"
)

// happen plays one event. If it returns an error, nothing has happened.
func (p *player) happen(e *Planned) (err error) {
	a := e.does()
	if a.replaces {
		defer p.remember()
	}
	if a.may != nil {
		err = a.may(p)
	}
	switch {
	case err != nil:
	case e.registers:
		err = p.registerAll(e.heirs)
	case a.play != nil:
		err = a.play(p, e)
	default:
		err = p.choose(e, &a)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.Actions()[0], err)
	}
	return nil
}

// choose does an action to the nodes that it selects: those that it names, or among several those on which it has something to
// do, as many as it takes. A kubelet that is named must qualify too: it may be in that state already. If something is wrong with
// the selection, it is done to none.
func (p *player) choose(e *Planned, a *action) error {
	f := newFaults()
	names := p.selected(f, a)
	if !f.none() {
		return f.invalid()
	}
	s, left, qualifies := a.nodes, len(names), a.on
	if s.several() {
		names, left = s.order(names, e.draw()), s.most(left)
	} else if !a.kubelets {
		qualifies = nil
	}
	for _, name := range names {
		n := &p.cluster.nodes[p.cluster.nodeByID[name]]
		if left > 0 && (qualifies == nil || qualifies(p, n)) {
			left--
			a.do(p, e, n)
			p.touch(name)
		}
	}
	if a.done != nil {
		a.done(p, e)
	}
	return nil
}

// selected returns the names of the nodes that an action selects now, and reports what is wrong with the selection.
func (p *player) selected(f faults, a *action) (names []string) {
	if s := a.nodes; s.several() {
		names = p.among(f, s)
	} else {
		names = p.named(f, s.Names)
	}
	if !a.kubelets {
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
		if n := &c.nodes[i]; !n.Deleted && !yield(n.Name) {
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
		if n := &c.nodes[i]; !n.Deleted && (s.Zone == "" || n.zone == key) && selector.Matches(labels.Set(n.Labels)) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	switch {
	case len(names) == 0 && !selector.Empty():
		f.at("", "selector").add("selector %q matches no node", s.Labels)
	case s.Count > len(names):
		f.in("count").add("%s: there are only %d", s.describe(), len(names))
	}
	return names
}

// waits says whether an event must wait. What people and other programs do waits while neither they nor kubelets reach the
// API, a new node while kubelets do not. What happens to machines and networks waits only for a node that waits itself.
func (p *player) waits(e *Planned) bool {
	down, a := p.cluster.kubelets.down, e.does()
	switch {
	case !p.playsOutages():
		return false
	case e.Restart != nil: // a new process must list everything
		return p.apiDown
	case e.AddNode != nil || e.registers:
		return down
	case !a.machines:
		return down && p.apiDown
	case len(p.postponed) == 0 || a.nodes == nil:
		return false
	}
	return slices.ContainsFunc(a.nodes.Names, func(name string) bool {
		_, exists := p.cluster.nodeByID[name]
		return !exists
	})
}

// wait puts an event off until the API answers.
func (p *player) wait(e *Planned, at time.Duration) {
	p.postponed = append(p.postponed, *e)
	if e.At < at {
		return // it has waited before
	}
	fields := timeline.Fields{"number": e.Number, "text": e.text() + ": waits until the API is back"}
	if e.Round > 0 {
		fields["round"], fields["inner"] = e.Round, e.Inner
	}
	p.line(timeline.Line{T: at, Kind: timeline.KindEvent, More: fields.String()})
}

// goOnWaiting makes the events happen that waited, as far as they need not wait longer, in the order in which they came.
func (p *player) goOnWaiting() {
	p.events = append(p.postponed, p.events...)
	p.postponed = nil
}

// tellEvent reports an event after it has happened.
func (p *player) tellEvent(e *Planned) {
	fields := timeline.Fields{"number": e.Number, "text": e.text()}
	if e.Number < 0 {
		fields = timeline.Fields{"by": "controller", "text": e.text()}
	}
	if e.Round > 0 {
		fields["round"], fields["inner"] = e.Round, e.Inner
	}
	p.sampler.happens(p.cluster, e, p.teller.touched)
	p.tellTouched(fields)
}

func (p *Planned) text() string {
	if p.registers {
		return "the new nodes register"
	}
	return p.String()
}
