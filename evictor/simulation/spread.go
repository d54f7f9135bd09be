package simulation

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/evictkit/evictkit/taints"
)

// spreadRule is a required topology spread constraint as its pod states it.
type spreadRule struct {
	Topology       string
	Skew, Domains  int
	Selector       *metav1.LabelSelector
	Labels         map[string]string `json:",omitempty"` // that matchLabelKeys add to the selector
	AnyNode, Taint bool              `json:",omitempty"` // the policies: node affinity is ignored, taints are honored
}

// spreadRules returns the required ones of a pod, and whether taints matter to any.
func spreadRules(object *v1.Pod) (rules []spreadRule, taint bool) {
	for i := range object.Spec.TopologySpreadConstraints {
		t := &object.Spec.TopologySpreadConstraints[i]
		if t.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		r := spreadRule{Topology: t.TopologyKey, Skew: int(t.MaxSkew), Domains: 1, Selector: t.LabelSelector}
		if someLater(t, "MinDomains") {
			r.Domains = int(later(t, "MinDomains").Elem().Int())
		}
		policy := func(name string) string {
			if !someLater(t, name) {
				return ""
			}
			return later(t, name).Elem().String()
		}
		r.AnyNode, r.Taint = policy("NodeAffinityPolicy") == "Ignore", policy("NodeTaintsPolicy") == "Honor"
		r.Labels = ownLabels(object, later(t, "MatchLabelKeys"))
		rules, taint = append(rules, r), taint || r.Taint
	}
	return rules, taint
}

// ownLabels returns those of a pod's labels that have one of the keys; nil if there are none.
func ownLabels(object *v1.Pod, keys reflect.Value) (own map[string]string) {
	if keys.Kind() != reflect.Slice {
		return nil
	}
	for i := range keys.Len() {
		key := keys.Index(i).String()
		if value, ok := object.Labels[key]; ok {
			if own == nil {
				own = make(map[string]string)
			}
			own[key] = value
		}
	}
	return own
}

// constraint is what one rule of a pod means: how far the number of pods in its domain may be above the least.
type constraint struct {
	*spread
	skew, domains int // with fewer domains than these the least is 0
}

// spread counts the pods of a namespace that a selector matches by the value of a label of their nodes. Deleted and
// finished pods do not count.
type spread struct {
	extent   *extent
	topology string
	selector labels.Selector
	counts   map[string]int // only of domains that have some
	having   map[int]int    // how many domains have that many
	least    int            // of those
	version  int
}

// extent is the nodes whose pods count, and whose labels are the domains: those that have all labels by which the pod
// is spread, and, as the policies say, match its node selector and affinity and have only taints that it tolerates.
type extent struct {
	topologies  []string
	nodes       *nodeRule // nil if any will do
	taint       bool
	tolerations []v1.Toleration
	has         []bool                    // by number of node
	domains     map[string]map[string]int // nodes by topology and value
	version     int
}

// spreading is all that is spread. The pods of a workload are found by one label that their selector requires.
type spreading struct {
	extents  []*extent
	extentOf map[string]*extent
	all      []*spread
	spreadOf map[string]*spread
	byLabel  map[labelIn][]*spread
	matching map[labelsIn][]*spread // as found in byLabel
}

// labelIn is a label that pods of a namespace have; without a key, any.
type labelIn struct {
	space      uint32
	key, value string
}

type labelsIn struct {
	labels *labelSet
	space  uint32
}

// constraints returns the shared form of a pod's rules.
func (c *cluster) constraints(object *v1.Pod, rules []spreadRule, nodes *nodeRule, nodesKey string) (all []constraint) {
	if len(rules) == 0 {
		return nil
	}
	if c.spreading == nil {
		c.spreading = &spreading{
			extentOf: make(map[string]*extent), spreadOf: make(map[string]*spread),
			byLabel: make(map[labelIn][]*spread), matching: make(map[labelsIn][]*spread),
		}
	}
	x := c.spreading
	var topologies []string
	for i := range rules {
		topologies = append(topologies, rules[i].Topology)
	}
	for i := range rules {
		r := &rules[i]
		e := &extent{topologies: topologies}
		if !r.AnyNode {
			e.nodes = nodes
		}
		of := ""
		if r.Taint {
			e.taint, e.tolerations, of = true, object.Spec.Tolerations, keyOfTolerations(object.Spec.Tolerations)
		}
		key := keyOf([]any{topologies, r.AnyNode || nodes == nil, nodesKey, e.taint, of})
		if shared := x.extentOf[key]; shared != nil {
			e = shared
		} else {
			x.extents, x.extentOf[key], c.tallied = append(x.extents, e), e, false
		}
		key = keyOf([]any{object.Namespace, key, r.Topology, r.Selector, r.Labels})
		s := x.spreadOf[key]
		if s == nil {
			s = &spread{extent: e, topology: r.Topology, selector: withLabels(selectorOf(r.Selector), r.Labels)}
			x.all, x.spreadOf[key], c.tallied = append(x.all, s), s, false
			x.file(s, c.space(object.Namespace))
		}
		all = append(all, constraint{s, r.Skew, r.Domains})
	}
	return all
}

// withLabels narrows a selector. What matches nothing goes on doing so.
func withLabels(s labels.Selector, more map[string]string) labels.Selector {
	all, selectable := s.Requirements()
	if len(more) == 0 || !selectable {
		return s
	}
	return labels.SelectorFromSet(more).Add(all...)
}

// file makes a spread known under the label that fewest others are filed under. As in the scheduler, an empty selector
// counts no pods.
func (x *spreading) file(s *spread, space uint32) {
	if s.selector.Empty() {
		return
	}
	under, found := labelIn{space: space}, false
	required, selectable := s.selector.Requirements()
	if !selectable {
		return
	}
	for i := range required {
		r := &required[i]
		if r.Operator() != selection.Equals && r.Operator() != selection.DoubleEquals && r.Operator() != selection.In || r.Values().Len() != 1 {
			continue
		}
		if at := (labelIn{space, r.Key(), r.Values().List()[0]}); !found || len(x.byLabel[at]) < len(x.byLabel[under]) {
			under, found = at, true
		}
	}
	x.byLabel[under] = append(x.byLabel[under], s)
	clear(x.matching)
}

// of returns the spreads that count pods with those labels.
func (x *spreading) of(l *labelSet, space uint32) (all []*spread) {
	at := labelsIn{l, space}
	if all, known := x.matching[at]; known {
		return all
	}
	add := func(under labelIn) {
		for _, s := range x.byLabel[under] {
			if s.selector.Matches(l.set()) {
				all = append(all, s)
			}
		}
	}
	add(labelIn{space: space})
	if l != nil {
		for key, value := range *l {
			add(labelIn{space, key, value})
		}
	}
	x.matching[at] = all
	return all
}

// includes says whether a node belongs to the extent.
func (e *extent) includes(n *node) bool {
	if n.deleted {
		return false
	}
	for _, topology := range e.topologies {
		if _, ok := n.labels[topology]; !ok {
			return false
		}
	}
	if !e.nodes.selects(n) {
		return false
	}
	return !e.taint || tolerated(n, e.tolerations)
}

// tolerated says whether nothing about a node keeps pods with these tolerations from being scheduled there.
func tolerated(n *node, tolerations []v1.Toleration) bool {
	for _, present := range [...][]v1.Taint{n.taints, n.standing()} {
		if _, not := taints.Untolerated(present, tolerations, false); not {
			return false
		}
	}
	return true
}

// look judges a node again after it changed, and counts its pods in the extents that it has joined or left.
func (x *spreading) look(c *cluster, i int32) {
	n := &c.nodes[i]
	for _, e := range x.extents {
		for len(e.has) <= int(i) {
			e.has = append(e.has, false)
		}
		if e.has[i] == e.includes(n) {
			continue
		}
		e.has[i] = !e.has[i]
		e.version++
		by := -1
		if e.has[i] {
			by = 1
		}
		for topology, values := range e.domains {
			value := n.labels[topology]
			if values[value] += by; values[value] == 0 {
				delete(values, value)
			}
		}
		for k := n.firstPod; k >= 0; k = c.pods[k].next {
			if p := &c.pods[k]; p.booked.traits&spreads != 0 {
				x.tell(c, p, by, e)
			}
		}
		if c.load != nil {
			c.load.version++
		}
	}
}

// tell counts a pod that begins to count (+1) or ends (-1), in one extent or, for nil, in all.
func (x *spreading) tell(c *cluster, p *pod, by int, only *extent) {
	for _, s := range x.of(p.spec.labels, p.id.space) {
		if e := s.extent; only == e || only == nil && int(p.node) < len(e.has) && e.has[p.node] {
			s.add(c.nodes[p.node].labels[s.topology], by)
			if c.load != nil {
				c.load.version++
			}
		}
	}
}

func (s *spread) add(domain string, by int) {
	was := s.counts[domain]
	now := was + by
	s.version++
	if s.counts[domain] = now; now == 0 {
		delete(s.counts, domain)
	}
	if was > 0 {
		if s.having[was]--; s.having[was] == 0 {
			delete(s.having, was)
		}
	}
	if now > 0 {
		s.having[now]++
	}
	if s.least == was || now > 0 && now < s.least || s.least == 0 {
		s.least = 0
		for pods := range s.having {
			if s.least == 0 || pods < s.least {
				s.least = pods
			}
		}
	}
}

// recount counts all nodes and pods again.
func (x *spreading) recount(c *cluster) {
	for _, e := range x.extents {
		e.has, e.domains = make([]bool, len(c.nodes)), make(map[string]map[string]int)
		for _, topology := range e.topologies {
			e.domains[topology] = make(map[string]int)
		}
		for i := range c.nodes {
			if n := &c.nodes[i]; e.includes(n) {
				e.has[i] = true
				for topology, values := range e.domains {
					values[n.labels[topology]]++
				}
			}
		}
		e.version++
	}
	for _, s := range x.all {
		s.counts, s.having, s.least = make(map[string]int), make(map[int]int), 0
	}
	for i := range c.pods {
		if p := &c.pods[i]; p.booked.traits&spreads != 0 {
			x.tell(c, p, 1, nil)
		}
	}
}

// admits says whether a pod with these labels may be in a domain.
func (s *constraint) admits(domain string, l *labelSet) bool {
	least, domains := s.least, len(s.extent.domains[s.topology])
	if domains > len(s.counts) || domains < s.domains {
		least = 0
	}
	above := s.counts[domain] - least
	return above < s.skew || above == s.skew && !s.selector.Matches(l.set())
}

// spreadsTo says whether a pod may be on a node according to its topology spread.
func spreadsTo(n *node, s *podSpec) bool {
	if s.needs == nil {
		return true
	}
	for i := range s.needs.spread {
		domain, ok := n.labels[s.needs.spread[i].topology]
		if !ok || !s.needs.spread[i].admits(domain, s.labels) {
			return false
		}
	}
	return true
}

// stateOf changes with all that decides where a pod's topology spread lets it go, and whether it may use its claims.
func (c *cluster) stateOf(s *podSpec) (state int) {
	if s.needs == nil {
		return 0
	}
	for i := range s.needs.spread {
		state += s.needs.spread[i].version + s.needs.spread[i].extent.version
	}
	if len(s.needs.alone) > 0 {
		state += c.usedVersion
	}
	return state
}

// ownDomains has a bit for each constraint that counts the pod itself.
func (s *podSpec) ownDomains() (bits uint64) {
	if s.needs != nil {
		for i := range s.needs.spread {
			if s.needs.spread[i].selector.Matches(s.labels.set()) {
				bits |= 1 << (i % 64)
			}
		}
	}
	return bits
}
