package placement

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
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
		if later.Some(t, "MinDomains") {
			r.Domains = int(later.Field(t, "MinDomains").Elem().Int())
		}
		policy := func(name string) string {
			if !later.Some(t, name) {
				return ""
			}
			return later.Field(t, name).Elem().String()
		}
		r.AnyNode, r.Taint = policy("NodeAffinityPolicy") == "Ignore", policy("NodeTaintsPolicy") == "Honor"
		r.Labels = ownLabels(object, later.Field(t, "MatchLabelKeys"))
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
	namespace, key, value string
}

type labelsIn struct {
	labels    *Labels
	namespace string
}

// constraints returns the shared form of a pod's rules.
func (f *Filters) constraints(object *v1.Pod, rules []spreadRule, nodes *nodeRule, nodesKey string) (all []constraint) {
	if len(rules) == 0 {
		return nil
	}
	if f.spreading == nil {
		f.spreading = &spreading{
			extentOf: make(map[string]*extent), spreadOf: make(map[string]*spread),
			byLabel: make(map[labelIn][]*spread), matching: make(map[labelsIn][]*spread),
		}
	}
	x := f.spreading
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
			x.extents, x.extentOf[key], f.tallied = append(x.extents, e), e, false
		}
		key = keyOf([]any{object.Namespace, key, r.Topology, r.Selector, r.Labels})
		s := x.spreadOf[key]
		if s == nil {
			s = &spread{extent: e, topology: r.Topology, selector: withLabels(selectorOf(r.Selector), r.Labels)}
			x.all, x.spreadOf[key], f.tallied = append(x.all, s), s, false
			x.file(s, object.Namespace)
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
func (x *spreading) file(s *spread, namespace string) {
	if s.selector.Empty() {
		return
	}
	under, found := labelIn{namespace: namespace}, false
	required, selectable := s.selector.Requirements()
	if !selectable {
		return
	}
	for i := range required {
		r := &required[i]
		if r.Operator() != selection.Equals && r.Operator() != selection.DoubleEquals && r.Operator() != selection.In || r.Values().Len() != 1 {
			continue
		}
		if at := (labelIn{namespace, r.Key(), r.Values().List()[0]}); !found || len(x.byLabel[at]) < len(x.byLabel[under]) {
			under, found = at, true
		}
	}
	x.byLabel[under] = append(x.byLabel[under], s)
	clear(x.matching)
}

// of returns the spreads that count pods with those labels.
func (x *spreading) of(l *Labels, namespace string) (all []*spread) {
	at := labelsIn{l, namespace}
	if all, known := x.matching[at]; known {
		return all
	}
	add := func(under labelIn) {
		for _, s := range x.byLabel[under] {
			if s.selector.Matches(l.Set()) {
				all = append(all, s)
			}
		}
	}
	add(labelIn{namespace: namespace})
	if l != nil {
		for key, value := range *l {
			add(labelIn{namespace, key, value})
		}
	}
	x.matching[at] = all
	return all
}

// includes says whether a node belongs to the extent.
func (e *extent) includes(n *NodeInfo) bool {
	if n.Deleted {
		return false
	}
	for _, topology := range e.topologies {
		if _, ok := n.Labels[topology]; !ok {
			return false
		}
	}
	if !e.nodes.selects(n) {
		return false
	}
	return !e.taint || tolerated(n, e.tolerations)
}

// tolerated says whether nothing about a node keeps pods with these tolerations from being scheduled there.
func tolerated(n *NodeInfo, tolerations []v1.Toleration) bool {
	for _, present := range [...][]v1.Taint{n.Taints, n.Standing()} {
		if _, not := taints.Untolerated(present, tolerations, false); not {
			return false
		}
	}
	return true
}

// look judges a node again after it changed, and counts its pods in the extents that it has joined or left.
func (x *spreading) look(f *Filters, i int32) {
	n := f.nodes[i]
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
			value := n.Labels[topology]
			if values[value] += by; values[value] == 0 {
				delete(values, value)
			}
		}
		f.of.EachPodOn(i, func(p Pod) {
			if p.Spreads {
				x.tell(f, p, by, e)
			}
		})
		f.changed()
	}
}

// tell counts a pod that begins to count (+1) or ends (-1), in one extent or, for nil, in all.
func (x *spreading) tell(f *Filters, p Pod, by int, only *extent) {
	for _, s := range x.of(p.Labels, p.Namespace) {
		if e := s.extent; only == e || only == nil && int(p.Node) < len(e.has) && e.has[p.Node] {
			s.add(f.nodes[p.Node].Labels[s.topology], by)
			f.changed()
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
func (x *spreading) recount(f *Filters) {
	for _, e := range x.extents {
		e.has, e.domains = make([]bool, len(f.nodes)), make(map[string]map[string]int)
		for _, topology := range e.topologies {
			e.domains[topology] = make(map[string]int)
		}
		for i := range f.nodes {
			if n := f.nodes[i]; e.includes(n) {
				e.has[i] = true
				for topology, values := range e.domains {
					values[n.Labels[topology]]++
				}
			}
		}
		e.version++
	}
	for _, s := range x.all {
		s.counts, s.having, s.least = make(map[string]int), make(map[int]int), 0
	}
	f.of.EachPod(func(p Pod) {
		if p.Spreads {
			x.tell(f, p, 1, nil)
		}
	})
}

// admits says whether a pod with these labels may be in a domain.
func (s *constraint) admits(domain string, l *Labels) bool {
	least, domains := s.least, len(s.extent.domains[s.topology])
	if domains > len(s.counts) || domains < s.domains {
		least = 0
	}
	above := s.counts[domain] - least
	return above < s.skew || above == s.skew && !s.selector.Matches(l.Set())
}

// spreadsTo says whether a pod may be on a node according to its topology spread.
func spreadsTo(n *NodeInfo, s *Spec) bool {
	for _, c := range s.needs().spread {
		if domain, ok := n.Labels[c.topology]; !ok || !c.admits(domain, s.Labels) {
			return false
		}
	}
	return true
}
