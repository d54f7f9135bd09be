package placement

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// index orders the nodes by their load, then by name. Nodes that match the same rules of
// pods form a group, which is a heap. There are few groups, because a cluster has few pools of nodes.
type index struct {
	rules    []placement
	ruleOf   map[string]int // number of a rule in rules
	groups   map[string]*group
	nodes    []indexed
	improved []int32 // nodes on which some pod may land now that could not before; each once
	version  int     // of all nodes and pods
}

// placement is what decides on which nodes a pod may land, apart from their load.
type placement struct {
	tolerations []v1.Toleration
	nodes       *nodeRule
	volumes     *volumeRule
	domains     *domains // if not nil it sorts nodes by them, and is nobody's rule
}

// domains numbers the values of a label by which pods are spread, as long as there are few.
type domains struct {
	topology string
	values   []string
	number   map[string]byte // from 1
	many     bool
}

// mostDomains limits into how many groups the nodes are split by one label.
const mostDomains = 100

func (d *domains) of(n *NodeInfo) byte {
	value, ok := n.Labels[d.topology]
	if !ok || d.many {
		return 0
	}
	number, ok := d.number[value]
	if !ok {
		if len(d.values) == mostDomains {
			d.many = true
			return 0
		}
		d.values = append(d.values, value)
		number = byte(len(d.values)) //nolint:gosec // few
		d.number[value] = number
	}
	return number
}

// group is the nodes that match the same rules.
type group struct {
	matches string  // 1 or 0 for each rule
	heap    []int32 // least load first
}

// indexed is the place of a node.
type indexed struct {
	group    *group // nil if no pod may land
	position int
	load     float64
	improved bool
}

func (l *index) less(f *Filters, a, b int32) bool {
	x, y := l.nodes[a].load, l.nodes[b].load
	return x < y || x == y && f.nodes[a].Name < f.nodes[b].Name
}

func (l *index) add(f *Filters, i int32) {
	for int(i) >= len(l.nodes) {
		l.nodes = append(l.nodes, indexed{})
	}
	l.update(f, i)
}

// update moves the node to where its state and load put it.
func (l *index) update(f *Filters, i int32) {
	at, key := &l.nodes[i], ""
	open := !f.nodes[i].Deleted
	if open {
		key = l.matching(f, i)
	}
	if at.group != nil && (!open || at.group.matches != key) {
		l.take(f, i)
	}
	if !open {
		return
	}
	load := f.nodes[i].load()
	if at.group == nil {
		at.load = load
		l.put(f, i, key)
		l.better(i)
		l.version++
		return
	}
	if at.load != load {
		at.load = load
		at.group.down(l, f, at.group.up(l, f, at.position))
	}
}

// load returns the load by which a node is chosen; if its room is not known, it is a share that grows with its number
// of pods.
func (n *NodeInfo) load() float64 {
	if n.Room == nil {
		return float64(n.Pods) / UsualPods
	}
	return n.Room.load()
}

// better records that some pod may land on the node that could not before.
func (l *index) better(i int32) {
	if at := &l.nodes[i]; at.group != nil && !at.improved {
		at.improved = true
		l.improved = append(l.improved, i)
	}
}

// Improved says whether there is a node on which some pod may land now that could not before.
func (f *Filters) Improved() bool { return len(f.index.improved) > 0 }

// TakeImproved returns the nodes that improved since the last call.
func (f *Filters) TakeImproved() []int32 {
	l := f.index
	taken := l.improved
	l.improved = nil
	for _, i := range taken {
		l.nodes[i].improved = false
	}
	return taken
}

// matching returns which rules a node matches.
func (l *index) matching(f *Filters, i int32) string {
	key := make([]byte, len(l.rules))
	for k := range l.rules {
		key[k] = l.match(&l.rules[k], f.nodes[i])
	}
	return string(key)
}

func (l *index) match(r *placement, n *NodeInfo) byte {
	if r.domains != nil {
		return r.domains.of(n)
	}
	if !tolerated(n, r.tolerations) || !r.nodes.matches(n) || !r.volumes.reach(n) {
		return '0'
	}
	return '1'
}

// rule returns the number of a pod's rule. A new rule splits the groups.
func (l *index) rule(f *Filters, s *Spec) int {
	r, key := placement{tolerations: s.Tolerations}, s.tolerationsKey
	if s.Needs != nil {
		r.nodes, key = s.Needs.nodes, key+"\x00\x00"+s.Needs.rule
		if v := s.Needs.volumes; v != nil && v.indexed {
			r.volumes, key = v, key+"\x00\x00"+v.key
		}
	}
	return l.number(f, key, r)
}

// number returns the number of a rule with that key.
func (l *index) number(f *Filters, key string, r placement) int {
	number, ok := l.ruleOf[key]
	if ok {
		return number
	}
	number = len(l.rules)
	l.rules = append(l.rules, r)
	l.ruleOf[key] = number
	before := l.groups
	l.groups = make(map[string]*group)
	for _, g := range before {
		for _, i := range g.heap {
			at := &l.nodes[i]
			at.group = nil
			l.put(f, i, g.matches+string(l.match(&r, f.nodes[i])))
		}
	}
	return number
}

// spreads returns the numbers of the rules that sort nodes by the domains over which the pod is spread.
func (l *index) spreads(f *Filters, s *Spec) (rules []int) {
	for _, c := range s.needs().spread {
		rules = append(rules, l.number(f, "\x01"+c.topology, placement{domains: &domains{topology: c.topology, number: make(map[string]byte)}}))
	}
	return rules
}

// closed says whether the pod's topology spread keeps it from all nodes of a group.
func (g *group) closed(l *index, s *Spec, spreads []int) bool {
	for i, rule := range spreads {
		d := l.rules[rule].domains
		if d.many {
			continue
		}
		number := g.matches[rule]
		if number == 0 || !s.Needs.spread[i].admits(d.values[number-1], s.Labels) {
			return true
		}
	}
	return false
}

// put adds a node to the group with that key.
func (l *index) put(f *Filters, i int32, key string) {
	g := l.groups[key]
	if g == nil {
		g = &group{matches: strings.Clone(key)}
		l.groups[key] = g
	}
	g.heap = append(g.heap, i)
	l.nodes[i].group, l.nodes[i].position = g, len(g.heap)-1
	g.up(l, f, len(g.heap)-1)
}

// take removes a node from its group.
func (l *index) take(f *Filters, i int32) {
	g, at := l.nodes[i].group, l.nodes[i].position
	last := len(g.heap) - 1
	g.swap(l, at, last)
	g.heap = g.heap[:last]
	l.nodes[i].group = nil
	if at < last {
		g.down(l, f, g.up(l, f, at))
	}
	if last == 0 {
		delete(l.groups, g.matches)
	}
}

func (g *group) swap(l *index, a, b int) {
	g.heap[a], g.heap[b] = g.heap[b], g.heap[a]
	l.nodes[g.heap[a]].position, l.nodes[g.heap[b]].position = a, b
}

func (g *group) up(l *index, f *Filters, at int) int {
	for at > 0 && l.less(f, g.heap[at], g.heap[(at-1)/2]) {
		g.swap(l, at, (at-1)/2)
		at = (at - 1) / 2
	}
	return at
}

func (g *group) down(l *index, f *Filters, at int) {
	for {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(g.heap); child++ {
			if l.less(f, g.heap[child], g.heap[least]) {
				least = child
			}
		}
		if least == at {
			return
		}
		g.swap(l, at, least)
		at = least
	}
}

// Index builds the index of where pods may go, if it does not exist.
func (f *Filters) Index() {
	if f.index != nil {
		return
	}
	f.index = &index{ruleOf: make(map[string]int), groups: make(map[string]*group)}
	for i := range f.nodes {
		f.index.add(f, int32(i)) //nolint:gosec // far fewer
	}
}

// Best returns the least loaded node that the pod may go to.
func (f *Filters) Best(s *Spec, namespace string) (best int32, ok bool) {
	best = -1
	l := f.index
	f.Recount()
	if !f.mayUse(s) {
		return best, false
	}
	rule, spreads := l.rule(f, s), l.spreads(f, s)
	for _, g := range l.groups {
		if g.matches[rule] == '1' && !g.closed(l, s, spreads) {
			l.search(f, g, 0, s, namespace, &best)
		}
	}
	return best, best >= 0
}

// search looks for a better node below a place of the heap. None there is less loaded than the one at that place.
func (l *index) search(f *Filters, g *group, at int, s *Spec, namespace string, best *int32) {
	if at >= len(g.heap) || *best >= 0 && !l.less(f, g.heap[at], *best) {
		return
	}
	if f.filter(g.heap[at], s, namespace) {
		*best = g.heap[at]
		return
	}
	first, second := 2*at+1, 2*at+2
	if second < len(g.heap) && l.less(f, g.heap[second], g.heap[first]) {
		first, second = second, first
	}
	l.search(f, g, first, s, namespace, best)
	l.search(f, g, second, s, namespace, best)
}

// BestImproved is Best among the nodes that improved since the pod found none.
func (f *Filters) BestImproved(improved []int32, s *Spec, namespace string) (best int32, ok bool) {
	const few = 32
	if len(improved) > few {
		return f.Best(s, namespace)
	}
	best = -1
	l := f.index
	rule := l.rule(f, s)
	for _, i := range improved {
		g := l.nodes[i].group
		if g != nil && g.matches[rule] == '1' && (best < 0 || l.less(f, i, best)) && f.filter(i, s, namespace) {
			best = i
		}
	}
	return best, best >= 0
}

// Feasible returns the names, in order, of the nodes that the pod may go to now.
func (f *Filters) Feasible(s *Spec, namespace string) (names []string) {
	rule := f.index.rule(f, s)
	for _, g := range f.index.groups {
		for _, i := range g.heap {
			if g.matches[rule] == '1' && f.filter(i, s, namespace) {
				names = append(names, f.nodes[i].Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Version changes with all nodes and pods.
func (f *Filters) Version() int { return f.index.version }

// filter says whether a node that matches the pod's rules has room for it beside its other pods.
func (f *Filters) filter(i int32, s *Spec, namespace string) bool {
	n := f.nodes[i]
	return (n.Room == nil || n.Room.fits(s.needs())) && n.portsFree(s) && f.mayUse(s) && f.reaches(n, s) &&
		spreadsTo(n, s) && f.among(n, s, namespace)
}

// Recount counts all pods again, after a tally was added or labels of a node changed.
func (f *Filters) Recount() {
	if f.tallied {
		return
	}
	f.tallied = true
	for _, t := range f.tallies {
		t.counts, t.count = make(map[string]int), 0
	}
	if f.spreading != nil {
		f.spreading.recount(f)
	}
	if len(f.tallies) == 0 {
		return
	}
	f.of.EachPod(func(p Pod) {
		if p.Takes {
			f.tally(p, 1)
		}
	})
}
