// Package marks decides of which silent nodes the pods are marked not Ready now, and of which later: a domain may limit of
// how many nodes at once. It holds no lock and calls nobody but the function that it is given.
package marks

import (
	"cmp"
	"slices"
	"time"

	"github.com/evictkit/evictkit/zone"
)

// Marks are the silent nodes. Make them with New.
type Marks struct {
	nodes   map[string]*node
	domains map[zone.Key]*domain // those with a limit or a silent node
	dirty   map[zone.Key]bool    // a node may have become free to mark there
}

type node struct {
	domain   zone.Key
	granted  bool
	reported bool // that it waits
}

type domain struct {
	most    int // 0 is no limit, a negative number none
	granted map[string]*node
	waiting map[string]*node
}

// New returns Marks without nodes and limits.
func New() *Marks {
	return &Marks{nodes: make(map[string]*node), domains: make(map[zone.Key]*domain), dirty: make(map[zone.Key]bool)}
}

func (m *Marks) in(key zone.Key) *domain {
	if m.domains[key] == nil {
		m.domains[key] = &domain{granted: make(map[string]*node), waiting: make(map[string]*node)}
	}
	return m.domains[key]
}

// Limit sets of how many nodes in a domain the pods may be marked at once: 0 is no limit, a negative number none. What was
// granted is looked at again.
func (m *Marks) Limit(key zone.Key, most int) {
	if d := m.in(key); d.most != most {
		d.most, m.dirty[key] = most, true
		for name, n := range d.granted {
			n.granted, d.waiting[name] = false, n
		}
		clear(d.granted)
	}
	m.tidy(key)
}

// Silent is called for a node that is silent. It waits for Grant unless it has that already. If it has moved to another
// domain, it waits or counts there.
func (m *Marks) Silent(name string, key zone.Key) {
	n := m.nodes[name]
	switch {
	case n == nil:
		n = &node{}
	case n.domain == key:
		return
	default:
		m.Heard(name)
	}
	n.domain, m.nodes[name], m.dirty[key] = key, n, true
	if d := m.in(key); n.granted {
		d.granted[name] = n
	} else {
		d.waiting[name] = n
	}
}

// Moved is Silent for a node that may not be silent.
func (m *Marks) Moved(name string, key zone.Key) {
	if m.nodes[name] != nil {
		m.Silent(name, key)
	}
}

// Heard is called for a node that is not silent any more, or gone.
func (m *Marks) Heard(name string) {
	n := m.nodes[name]
	if n == nil {
		return
	}
	d := m.domains[n.domain]
	delete(d.granted, name)
	delete(d.waiting, name)
	delete(m.nodes, name)
	m.dirty[n.domain] = true
	m.tidy(n.domain)
}

// tidy forgets a domain of which nothing is known.
func (m *Marks) tidy(key zone.Key) {
	if d := m.domains[key]; d.most == 0 && len(d.granted) == 0 && len(d.waiting) == 0 {
		delete(m.domains, key)
		delete(m.dirty, key)
	}
}

// Granted says whether the node's pods may be marked.
func (m *Marks) Granted(name string) bool {
	n := m.nodes[name]
	return n != nil && n.granted
}

// Need is what a silent node needs.
type Need struct {
	Pods   bool      // it has pods that can be marked, or were
	Marked bool      // this has begun, or none of them is Ready, so that an evictor before has done it
	Silent time.Time // since when
}

// Grant grants what the limits allow and, in order, returns the nodes that may be marked now and those that have to wait
// and were not returned before. Whose pods are marked already counts first. Then the longest silent comes first. A node
// without pods takes nobody's place.
func (m *Marks) Grant(look func(node string) Need) (granted, wait []string) {
	needs := map[string]Need{}
	for key := range m.dirty { // before anything is granted: look may panic
		for name := range m.domains[key].waiting {
			if m.domains[key].most != 0 {
				needs[name] = look(name)
			}
		}
	}
	for key := range m.dirty {
		d := m.domains[key]
		var names []string
		for name := range d.waiting {
			if d.most == 0 || needs[name].Pods {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(later(needs[a].Marked, needs[b].Marked), needs[a].Silent.Compare(needs[b].Silent), cmp.Compare(a, b))
		})
		for _, name := range names {
			switch n := d.waiting[name]; {
			case d.most == 0 || len(d.granted) < d.most:
				n.granted, n.reported, d.granted[name] = true, false, n
				delete(d.waiting, name)
				granted = append(granted, name)
			case !n.reported && !needs[name].Marked:
				n.reported = true
				wait = append(wait, name)
			}
		}
	}
	clear(m.dirty)
	slices.Sort(granted)
	slices.Sort(wait)
	return granted, wait
}

// later orders true before false.
func later(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Look has the next Grant look again at the domain of a node whose pods have changed.
func (m *Marks) Look(name string) {
	if n := m.nodes[name]; n != nil && !n.granted {
		m.dirty[n.domain] = true
	}
}
