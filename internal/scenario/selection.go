package scenario

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// selected returns the nodes that the event chooses from, by name unless it names them.
func (w *world) selected(f *faults, e *Planned) []*node {
	s := e.selector()
	if !s.check(f) {
		return nil
	}
	switch {
	case s.Node != "":
		return w.named(f, s.Node)
	case !s.Several():
		return w.named(f, s.Nodes...)
	}
	nodes, of := w.matching(f, s)
	if s.Count != nil && *s.Count > len(nodes) && len(*f) == 0 {
		f.add("count: %d is more than the %d nodes of %s", *s.Count, len(nodes), of)
	}
	return nodes
}

// matching returns the nodes of the zone, with those labels, or both, and a description.
func (w *world) matching(f *faults, s *Selector) (nodes []*node, of string) {
	if s.Zone != nil {
		z, err := w.resolve(*s.Zone)
		if err != nil {
			f.add("%w", err)
			return nil, ""
		}
		nodes, of = z.nodes, fmt.Sprintf("zone %q", *s.Zone)
	} else {
		for _, key := range w.keys {
			nodes = append(nodes, w.zones[key].nodes...)
		}
		sortNodes(nodes)
	}
	if s.Labels == nil {
		return nodes, of
	}
	selector, err := s.Labels.Parse()
	if err != nil {
		return nil, "" // check has reported it
	}
	var matching []*node
	for _, n := range nodes {
		if selector.Matches(labels.Set(n.labels)) {
			matching = append(matching, n)
		}
	}
	if len(matching) == 0 && !selector.Empty() {
		f.add("selector %q matches no node", *s.Labels)
	}
	if of != "" {
		of += " and "
	}
	return matching, of + fmt.Sprintf("selector %q", *s.Labels)
}

// some returns the nodes that an event chooses among those that qualify, by its count, percent and seed.
func (w *world) some(e *Planned, nodes []*node, qualifies func(*node) bool) (chosen []*node) {
	s := e.selector()
	left := s.Most(len(nodes))
	if s.Seed != nil && s.Several() {
		names, byName := make([]string, len(nodes)), make(map[string]*node, len(nodes))
		for i, n := range nodes {
			names[i], byName[n.name] = n.name, n
		}
		nodes = nil
		for _, name := range s.Order(names, e.Draw()) {
			nodes = append(nodes, byName[name])
		}
	}
	seen := make(map[*node]bool, len(nodes)) // nodes may contain duplicates
	for _, n := range nodes {
		if left > 0 && !seen[n] && qualifies(n) {
			seen[n] = true
			chosen = append(chosen, n)
			left--
		}
	}
	return chosen
}

// named returns the nodes that a selector names.
func (w *world) named(f *faults, names ...string) []*node {
	var nodes []*node
	for _, name := range names {
		if n := w.mustExist(f, name); n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
