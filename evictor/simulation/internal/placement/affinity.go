package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/evictkit/evictkit/evictor/simulation/internal/later"
)

// nodeRule is a pod's node selector, its required node affinity and the extended resources it asks for.
type nodeRule struct {
	selector labels.Selector
	terms    []nodeTerm // one of them must match; nil means no requirement
	required bool       // there is an affinity, so nothing matches if there are no terms
	extended []int
}

type nodeTerm struct {
	labels labels.Selector
	names  []nameRule
}

// nameRule requires the node of that name, or any other. It is not a labels.Requirement, because those reject long
// names.
type nameRule struct {
	name string
	same bool
}

const nameField = "metadata.name"

func newNodeRule(selector map[string]string, affinity *v1.NodeSelector, extended []int) *nodeRule {
	if len(selector) == 0 && affinity == nil && len(extended) == 0 {
		return nil
	}
	r := &nodeRule{selector: labels.SelectorFromSet(selector), required: affinity != nil, extended: extended}
	if affinity == nil {
		return r
	}
	for i := range affinity.NodeSelectorTerms {
		t := &affinity.NodeSelectorTerms[i]
		if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
			continue // matches nothing
		}
		expressions, sound := requirements(t.MatchExpressions)
		names, soundNames := nameRules(t.MatchFields)
		if sound && soundNames {
			r.terms = append(r.terms, nodeTerm{labels.NewSelector().Add(expressions...), names})
		}
	}
	return r
}

var operators = map[v1.NodeSelectorOperator]selection.Operator{
	v1.NodeSelectorOpIn: selection.In, v1.NodeSelectorOpNotIn: selection.NotIn, v1.NodeSelectorOpExists: selection.Exists,
	v1.NodeSelectorOpDoesNotExist: selection.DoesNotExist, v1.NodeSelectorOpGt: selection.GreaterThan, v1.NodeSelectorOpLt: selection.LessThan,
}

// requirements returns the requirements of a term. An invalid one makes the term match nothing.
func requirements(list []v1.NodeSelectorRequirement) (all []labels.Requirement, sound bool) {
	for i := range list {
		r, err := labels.NewRequirement(list[i].Key, operators[list[i].Operator], list[i].Values)
		if err != nil {
			return nil, false
		}
		all = append(all, *r)
	}
	return all, true
}

// nameRules returns the rules for a term's fields. The name is the only field, and each rule has one value.
func nameRules(list []v1.NodeSelectorRequirement) (all []nameRule, sound bool) {
	for i := range list {
		r := &list[i]
		same := r.Operator == v1.NodeSelectorOpIn
		if r.Key != nameField || len(r.Values) != 1 || !same && r.Operator != v1.NodeSelectorOpNotIn {
			return nil, false
		}
		all = append(all, nameRule{r.Values[0], same})
	}
	return all, true
}

// matches says whether a node satisfies the rule. All nodes satisfy nil.
func (r *nodeRule) matches(n *NodeInfo) bool {
	if r == nil {
		return true
	}
	for _, resource := range r.extended {
		if n.Room == nil {
			break
		}
		if has, _ := n.Room.has(resource); has == 0 {
			return false
		}
	}
	return r.selects(n)
}

// selects is matches but for extended resources.
func (r *nodeRule) selects(n *NodeInfo) bool {
	if r == nil {
		return true
	}
	set := labels.Set(n.Labels)
	if !r.selector.Matches(set) {
		return false
	}
	return !r.required || slices.ContainsFunc(r.terms, func(t nodeTerm) bool {
		return t.labels.Matches(set) && !slices.ContainsFunc(t.names, func(r nameRule) bool { return r.same != (r.name == n.Name) })
	})
}

// tally counts pods by the value of a label of their nodes: the pods that match all its terms or, if it counts holders,
// the pods that must be apart from what its terms match.
type tally struct {
	terms     []podTerm
	topology  string
	byHolder  bool
	held      *tally // for a holder: the anti-affinity that it has
	counts    map[string]int
	count     int
	stringKey string
}

// podTerm is a term of a pod's affinity to other pods.
type podTerm struct {
	selector   labels.Selector
	namespaces labels.Selector // by the name label, the only one that is known
	names      []string
}

func (t *podTerm) matches(l *Labels, namespace string) bool {
	if !slices.Contains(t.names, namespace) && !t.namespaces.Matches(labels.Set{"kubernetes.io/metadata.name": namespace}) {
		return false
	}
	return t.selector.Matches(l.Set())
}

func (t *tally) matches(l *Labels, namespace string) bool {
	for i := range t.terms {
		if !t.terms[i].matches(l, namespace) {
			return false
		}
	}
	return true
}

// terms returns the tallies of a pod's required affinity and anti-affinity, and registers the anti-affinity so that it
// is counted for the pods that match it.
func (f *Filters) terms(namespace string, near, apart []v1.PodAffinityTerm) (nearTo, apartFrom []*tally) {
	all := make([]podTerm, len(near))
	for i := range near {
		all[i] = newPodTerm(namespace, &near[i])
	}
	for i := range near {
		nearTo = append(nearTo, f.shared(keyOf([]any{namespace, near, i}), &tally{terms: all, topology: near[i].TopologyKey}))
	}
	for i := range apart {
		key := keyOf([]any{namespace, apart[i]})
		t := f.shared(key, &tally{terms: []podTerm{newPodTerm(namespace, &apart[i])}, topology: apart[i].TopologyKey})
		f.shared(key+" held", &tally{terms: t.terms, topology: t.topology, byHolder: true, held: t})
		apartFrom = append(apartFrom, t)
	}
	return nearTo, apartFrom
}

func newPodTerm(namespace string, t *v1.PodAffinityTerm) podTerm {
	p := podTerm{names: t.Namespaces, namespaces: selectorOf(later.NamespaceSelector(t)), selector: selectorOf(t.LabelSelector)}
	if len(t.Namespaces) == 0 && later.NamespaceSelector(t) == nil {
		p.names = []string{namespace}
	}
	return p
}

// selectorOf returns a selector that matches nothing if the given one is nil or invalid.
func selectorOf(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// shared returns the shared form of a tally. It is counted when it is first used.
func (f *Filters) shared(key string, t *tally) *tally {
	for _, known := range f.tallies {
		if known.stringKey == key {
			return known
		}
	}
	t.stringKey = key
	f.tallies = append(f.tallies, t)
	f.tallied = false
	return t
}

// tally counts a pod that was added (+1) or removed (-1).
func (f *Filters) tally(p Pod, by int) {
	n := f.nodes[p.Node]
	for _, t := range f.tallies {
		value, ok := n.Labels[t.topology]
		if !ok {
			continue
		}
		if t.byHolder && slices.Contains(p.needs().apart, t.held) || !t.byHolder && t.matches(p.Labels, p.Namespace) {
			t.counts[value] += by
			t.count += by
		}
	}
}

// among says whether a pod may be on a node according to its required affinity and anti-affinity, and to the
// anti-affinity of the pods there.
func (f *Filters) among(n *NodeInfo, s *Spec, namespace string) bool {
	for _, t := range f.tallies {
		if value, ok := n.Labels[t.topology]; t.byHolder && ok && t.counts[value] > 0 && t.matches(s.Labels, namespace) {
			return false
		}
	}
	for _, t := range s.needs().apart {
		if value, ok := n.Labels[t.topology]; ok && t.counts[value] > 0 {
			return false
		}
	}
	return f.near(n, s, namespace)
}

// near lets the first pod of a group that must be together be anywhere.
func (f *Filters) near(n *NodeInfo, s *Spec, namespace string) bool {
	found, total := true, 0
	for _, t := range s.needs().near {
		value, ok := n.Labels[t.topology]
		if !ok {
			return false
		}
		found = found && t.counts[value] > 0
		total += t.count
	}
	return found || total == 0 && s.Needs.near[0].matches(s.Labels, namespace)
}

// minds says whether other pods affect where this one may go.
func (f *Filters) minds(s *Spec, namespace string) bool {
	return len(s.needs().near)+len(s.needs().apart) > 0 ||
		slices.ContainsFunc(f.tallies, func(t *tally) bool { return t.byHolder && t.matches(s.Labels, namespace) })
}
