package simulation

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// loadIndex orders the nodes by their load, then by name. Nodes that match the same rules of
// pods form a group, which is a heap. There are few groups, because a cluster has few pools of nodes.
type loadIndex struct {
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

func (d *domains) of(n *node) byte {
	value, ok := n.labels[d.topology]
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

func newLoadIndex() *loadIndex {
	return &loadIndex{ruleOf: make(map[string]int), groups: make(map[string]*group)}
}

func (l *loadIndex) less(c *cluster, a, b int32) bool {
	x, y := l.nodes[a].load, l.nodes[b].load
	return x < y || x == y && c.nodes[a].name < c.nodes[b].name
}

func (l *loadIndex) add(c *cluster, i int32) {
	for int(i) >= len(l.nodes) {
		l.nodes = append(l.nodes, indexed{})
	}
	l.update(c, i)
}

// update moves the node to where its state and load put it.
func (l *loadIndex) update(c *cluster, i int32) {
	at, key := &l.nodes[i], ""
	open := !c.nodes[i].deleted
	if open {
		key = l.matching(c, i)
	}
	if at.group != nil && (!open || at.group.matches != key) {
		l.take(c, i)
	}
	if !open {
		return
	}
	load := c.nodes[i].load()
	if at.group == nil {
		at.load = load
		l.put(c, i, key)
		l.better(i)
		l.version++
		return
	}
	if at.load != load {
		at.load = load
		at.group.down(l, c, at.group.up(l, c, at.position))
	}
}

// load returns the load by which a node is chosen; if its room is not known, it is a share that grows with its number
// of pods.
func (n *node) load() float64 {
	if n.room == nil {
		return float64(n.pods) / usualPods
	}
	return n.room.load()
}

// better records that some pod may land on the node that could not before.
func (l *loadIndex) better(i int32) {
	if at := &l.nodes[i]; at.group != nil && !at.improved {
		at.improved = true
		l.improved = append(l.improved, i)
	}
}

// takeImproved returns the nodes that improved since the last call.
func (l *loadIndex) takeImproved() []int32 {
	taken := l.improved
	l.improved = nil
	for _, i := range taken {
		l.nodes[i].improved = false
	}
	return taken
}

// matching returns which rules a node matches.
func (l *loadIndex) matching(c *cluster, i int32) string {
	key := make([]byte, len(l.rules))
	for k := range l.rules {
		key[k] = l.match(&l.rules[k], &c.nodes[i])
	}
	return string(key)
}

func (l *loadIndex) match(r *placement, n *node) byte {
	if r.domains != nil {
		return r.domains.of(n)
	}
	if !tolerated(n, r.tolerations) || !r.nodes.matches(n) || !r.volumes.reach(n) {
		return '0'
	}
	return '1'
}

// rule returns the number of a pod's rule. A new rule splits the groups.
func (l *loadIndex) rule(c *cluster, s *podSpec) int {
	r, key := placement{tolerations: s.Tolerations}, s.tolerationsKey
	if s.needs != nil {
		r.nodes, key = s.needs.nodes, key+"\x00\x00"+s.needs.rule
		if v := s.needs.volumes; v != nil && v.indexed {
			r.volumes, key = v, key+"\x00\x00"+v.key
		}
	}
	return l.number(c, key, r)
}

// number returns the number of a rule with that key.
func (l *loadIndex) number(c *cluster, key string, r placement) int {
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
			l.put(c, i, g.matches+string(l.match(&r, &c.nodes[i])))
		}
	}
	return number
}

// spreads returns the numbers of the rules that sort nodes by the domains over which the pod is spread.
func (l *loadIndex) spreads(c *cluster, s *podSpec) (rules []int) {
	if s.needs == nil {
		return nil
	}
	for i := range s.needs.spread {
		topology := s.needs.spread[i].topology
		rules = append(rules, l.number(c, "\x01"+topology, placement{domains: &domains{topology: topology, number: make(map[string]byte)}}))
	}
	return rules
}

// closed says whether the pod's topology spread keeps it from all nodes of a group.
func (g *group) closed(l *loadIndex, s *podSpec, spreads []int) bool {
	for i, rule := range spreads {
		d := l.rules[rule].domains
		if d.many {
			continue
		}
		number := g.matches[rule]
		if number == 0 || !s.needs.spread[i].admits(d.values[number-1], s.labels) {
			return true
		}
	}
	return false
}

// put adds a node to the group with that key.
func (l *loadIndex) put(c *cluster, i int32, key string) {
	g := l.groups[key]
	if g == nil {
		g = &group{matches: strings.Clone(key)}
		l.groups[key] = g
	}
	g.heap = append(g.heap, i)
	l.nodes[i].group, l.nodes[i].position = g, len(g.heap)-1
	g.up(l, c, len(g.heap)-1)
}

// take removes a node from its group.
func (l *loadIndex) take(c *cluster, i int32) {
	g, at := l.nodes[i].group, l.nodes[i].position
	last := len(g.heap) - 1
	g.swap(l, at, last)
	g.heap = g.heap[:last]
	l.nodes[i].group = nil
	if at < last {
		g.down(l, c, g.up(l, c, at))
	}
	if last == 0 {
		delete(l.groups, g.matches)
	}
}

func (g *group) swap(l *loadIndex, a, b int) {
	g.heap[a], g.heap[b] = g.heap[b], g.heap[a]
	l.nodes[g.heap[a]].position, l.nodes[g.heap[b]].position = a, b
}

func (g *group) up(l *loadIndex, c *cluster, at int) int {
	for at > 0 && l.less(c, g.heap[at], g.heap[(at-1)/2]) {
		g.swap(l, at, (at-1)/2)
		at = (at - 1) / 2
	}
	return at
}

func (g *group) down(l *loadIndex, c *cluster, at int) {
	for {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(g.heap); child++ {
			if l.less(c, g.heap[child], g.heap[least]) {
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

// best returns the least loaded node that the pod may go to.
func (l *loadIndex) best(c *cluster, s *podSpec, namespace string) (best int32, ok bool) {
	best = -1
	c.recount()
	if !c.mayUse(s) {
		return best, false
	}
	rule, spreads := l.rule(c, s), l.spreads(c, s)
	for _, g := range l.groups {
		if g.matches[rule] == '1' && !g.closed(l, s, spreads) {
			l.search(c, g, 0, s, namespace, &best)
		}
	}
	return best, best >= 0
}

// search looks for a better node below a place of the heap. None there is less loaded than the one at that place.
func (l *loadIndex) search(c *cluster, g *group, at int, s *podSpec, namespace string, best *int32) {
	if at >= len(g.heap) || *best >= 0 && !l.less(c, g.heap[at], *best) {
		return
	}
	if l.fits(c, g.heap[at], s, namespace) {
		*best = g.heap[at]
		return
	}
	first, second := 2*at+1, 2*at+2
	if second < len(g.heap) && l.less(c, g.heap[second], g.heap[first]) {
		first, second = second, first
	}
	l.search(c, g, first, s, namespace, best)
	l.search(c, g, second, s, namespace, best)
}

// bestImproved is best among the nodes that improved since the pod found none.
func (l *loadIndex) bestImproved(c *cluster, improved []int32, s *podSpec, namespace string) (best int32, ok bool) {
	const few = 32
	if len(improved) > few {
		return l.best(c, s, namespace)
	}
	best = -1
	rule := l.rule(c, s)
	for _, i := range improved {
		g := l.nodes[i].group
		if g != nil && g.matches[rule] == '1' && (best < 0 || l.less(c, i, best)) && l.fits(c, i, s, namespace) {
			best = i
		}
	}
	return best, best >= 0
}

// fits says whether a node that matches the pod's rules has room for it beside its other pods.
func (l *loadIndex) fits(c *cluster, i int32, s *podSpec, namespace string) bool {
	n := &c.nodes[i]
	return (n.room == nil || n.room.fits(s.needs)) && c.portsFree(n, s) && c.mayUse(s) && c.reaches(n, s) &&
		spreadsTo(n, s) && c.among(n, s, namespace)
}

// recount counts all pods again, after a tally was added or labels of a node changed.
func (c *cluster) recount() {
	if c.tallied {
		return
	}
	c.tallied = true
	for _, t := range c.tallies {
		t.counts, t.count = make(map[string]int), 0
	}
	if c.spreading != nil {
		c.spreading.recount(c)
	}
	for i := 0; i < len(c.pods) && len(c.tallies) > 0; i++ {
		if p := &c.pods[i]; p.booked.traits&takes != 0 {
			c.tell(p, c.spaces[p.id.space], 1)
		}
	}
}

// occupies counts a pod's requests, ports and claims on its node while it has not finished, even while it terminates. The
// scheduler does not see pods of deleted nodes.
func (c *cluster) occupies(i int32, by int) {
	p := &c.pods[i]
	n := &c.nodes[p.node]
	c.uses(p.spec, by)
	if c.tallied && len(c.tallies) > 0 {
		c.tell(p, c.spaces[p.id.space], by)
	}
	if n.room != nil {
		n.room.take(p.spec.needs, int64(by))
	}
	if c.load == nil {
		return
	}
	c.load.version++
	if by < 0 && (n.room != nil || p.spec.takesPorts()) {
		c.load.better(p.node)
	}
}

// spreads counts a pod for topology spread.
func (c *cluster) spreads(i int32, by int) {
	if c.spreading != nil && c.tallied {
		c.spreading.tell(c, &c.pods[i], by, nil)
	}
}
