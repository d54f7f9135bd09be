package simulation

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// selected returns the nodes that the event chooses from, by name unless it names them.
func (w *forecast) selected(f *faults, e *Planned) []*foreseen {
	s := e.nodes()
	if !s.check(f) {
		return nil
	}
	switch {
	case !s.several():
		return w.named(f, s.Names...)
	}
	nodes, of := w.matching(f, s)
	if s.Count > len(nodes) && len(*f) == 0 {
		f.add("count: %d is more than the %d nodes of %s", s.Count, len(nodes), of)
	}
	return nodes
}

// matching returns the nodes of the zone, with those labels, or both, and a description.
func (w *forecast) matching(f *faults, s *Nodes) (nodes []*foreseen, of string) {
	if s.Zone != "" {
		z, err := w.resolve(s.Zone)
		if err != nil {
			f.add("%w", err)
			return nil, ""
		}
		nodes, of = z.nodes, fmt.Sprintf("zone %q", s.Zone)
	} else {
		for _, key := range w.keys {
			nodes = append(nodes, w.zones[key].nodes...)
		}
		sortNodes(nodes)
	}
	if s.Labels == "" {
		return nodes, cmp.Or(of, "the cluster")
	}
	selector, err := labels.Parse(s.Labels)
	if err != nil {
		return nil, "" // check has reported it
	}
	var matching []*foreseen
	for _, n := range nodes {
		if selector.Matches(labels.Set(n.labels)) {
			matching = append(matching, n)
		}
	}
	if len(matching) == 0 && !selector.Empty() {
		f.add("selector %q matches no node", s.Labels)
	}
	if of != "" {
		of += " and "
	}
	return matching, of + fmt.Sprintf("selector %q", s.Labels)
}

// some returns the nodes that an event chooses among those that qualify, by its count, percent and seed.
func (w *forecast) some(e *Planned, nodes []*foreseen, qualifies func(*foreseen) bool) (chosen []*foreseen) {
	s := e.nodes()
	left := s.most(len(nodes))
	if s.Seed != 0 && s.several() {
		names, byName := make([]string, len(nodes)), make(map[string]*foreseen, len(nodes))
		for i, n := range nodes {
			names[i], byName[n.name] = n.name, n
		}
		nodes = nil
		for _, name := range s.order(names, e.draw()) {
			nodes = append(nodes, byName[name])
		}
	}
	seen := make(map[*foreseen]bool, len(nodes)) // nodes may contain duplicates
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
func (w *forecast) named(f *faults, names ...string) []*foreseen {
	var nodes []*foreseen
	for _, name := range names {
		if n := w.mustExist(f, name); n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
