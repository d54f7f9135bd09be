package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evictkit/evictkit/zone"
)

// NodeFields are the optional fields of generated and added nodes.
type NodeFields struct {
	Labels        map[string]string   `yaml:"labels,omitempty"` // besides those that a kubelet sets, which they replace
	Taints        []NodeTaint         `yaml:"taints,omitempty"`
	Capacity      map[string]Quantity `yaml:"capacity,omitempty"` // all of it for pods; nil means room for everything
	Unschedulable bool                `yaml:"unschedulable,omitempty"`
}

// NodeTaint is a taint of a node.
type NodeTaint struct {
	Key    string         `yaml:"key"`
	Value  string         `yaml:"value,omitempty"`
	Effect v1.TaintEffect `yaml:"effect"`
}

// PodFields are the optional fields of generated and added pods.
type PodFields struct {
	Labels       map[string]string   `yaml:"labels,omitempty"`
	Requests     map[string]Quantity `yaml:"requests,omitempty"`
	Tolerations  []Toleration        `yaml:"tolerations,omitempty"` // they come before those for not-ready and unreachable
	NodeSelector map[string]string   `yaml:"nodeSelector,omitempty"`
	Owner        Owner               `yaml:"owner,omitempty"`
	// TerminationGracePeriodSeconds is how long a pod takes to end on a live node once it is deleted; 0 means that it is gone
	// at once.
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds,omitempty"`
}

// mostGrace limits the seconds that a pod takes to end.
const mostGrace = 1_000_000

// Toleration is one toleration of a pod.
type Toleration struct {
	Key               string                `yaml:"key,omitempty"`
	Operator          v1.TolerationOperator `yaml:"operator,omitempty"`
	Value             string                `yaml:"value,omitempty"`
	Effect            v1.TaintEffect        `yaml:"effect,omitempty"`
	TolerationSeconds *int64                `yaml:"tolerationSeconds,omitempty"`
}

// Quantity is an amount as Kubernetes writes it: 500m, 32Gi, 4.
type Quantity string

// UnmarshalText reads a quantity that is not negative.
func (q *Quantity) UnmarshalText(text []byte) error {
	switch parsed, err := resource.ParseQuantity(string(text)); {
	case err != nil:
		return fmt.Errorf("%q is not a quantity such as 500m, 32Gi or 4", text)
	case parsed.Sign() < 0:
		return fmt.Errorf("%s is negative", text)
	}
	*q = Quantity(text)
	return nil
}

// Owner is the controller of a pod, as Kind/name, or [NoOwner].
type Owner string

// NoOwner means a bare pod.
const NoOwner Owner = "none"

// UnmarshalText reads an owner.
func (o *Owner) UnmarshalText(text []byte) error {
	if wrong := Owner(text).fault(); wrong != "" {
		return fmt.Errorf("%q %s", text, wrong)
	}
	*o = Owner(text)
	return nil
}

func (o Owner) fault() string {
	kind, name, ok := strings.Cut(string(o), "/")
	if o == "" || o == NoOwner || ok && kind != "" && name != "" && !strings.Contains(name, "/") {
		return ""
	}
	return "is neither none nor Kind/name"
}

// split returns the owner's kind and name, both empty for none. An empty Owner means otherwise.
func (o Owner) split(otherwise Owner) (kind, name string) {
	if o = cmp.Or(o, otherwise); o == NoOwner {
		return "", ""
	}
	kind, name, _ = strings.Cut(string(o), "/")
	return kind, name
}

// resourcesOf makes a ResourceList of quantities.
func resourcesOf(amounts map[string]Quantity) v1.ResourceList {
	if amounts == nil {
		return nil
	}
	list := make(v1.ResourceList, len(amounts))
	for name, amount := range amounts {
		if parsed, err := resource.ParseQuantity(string(amount)); err == nil { // Check has parsed them
			list[v1.ResourceName(name)] = parsed
		}
	}
	return list
}

// zoneLabelKeys are the labels that follow from a node's zone and region. They have no names in the API of v1.18, which one
// of the comparisons is built with.
var zoneLabelKeys = [...]string{
	"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
}

// nodeLabels returns the labels of a generated or added node in that zone, as its kubelet sets them. Its own ones win. An empty
// part of the key has no label.
func nodeLabels(name string, key zone.Key, own map[string]string) map[string]string {
	all := make(map[string]string, 7+len(own))
	all[v1.LabelHostname] = name
	all[v1.LabelOSStable], all["beta.kubernetes.io/os"] = "linux", "linux"
	all[v1.LabelArchStable], all["beta.kubernetes.io/arch"] = "amd64", "amd64"
	maps.Copy(all, own)
	if key.Zone != "" {
		all["topology.kubernetes.io/zone"] = key.Zone
	}
	if key.Region != "" {
		all["topology.kubernetes.io/region"] = key.Region
	}
	return all
}

// check reports the faults of a node's fields.
func (n *NodeFields) check(f faults) {
	checkLabels(f.in("labels"), n.Labels)
	for _, name := range zoneLabelKeys {
		if _, ok := n.Labels[name]; ok {
			f.at("labels", "labels", name).add("%s is set by zone and region", name)
		}
	}
	for i := range n.Taints {
		t := &n.Taints[i]
		checkTaint(f.in("taints").at(fmt.Sprintf("taint %d", i+1), item(i)), t.Key, t.Effect)
	}
	checkAmounts(f.in("capacity"), n.Capacity)
}

func checkTaint(f faults, key string, effect v1.TaintEffect) {
	if key == "" {
		f.missing("key")
	} else if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
		f.in("key").add("%q: %s", key, strings.Join(wrong, "; "))
	}
	if !validEffect(effect) {
		f.in("effect").add("%q is not one of NoSchedule, PreferNoSchedule and NoExecute", effect)
	}
}

// check reports the faults of a pod's fields.
func (p *PodFields) check(f faults) {
	checkLabels(f.in("labels"), p.Labels)
	checkLabels(f.in("nodeSelector"), p.NodeSelector)
	checkAmounts(f.in("requests"), p.Requests)
	bounded(f.in("terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds, mostGrace)
	if wrong := p.Owner.fault(); wrong != "" {
		f.in("owner").add("%q %s", p.Owner, wrong)
	}
	for i := range p.Tolerations {
		p.Tolerations[i].check(f.in("tolerations").at(fmt.Sprintf("toleration %d", i+1), item(i)))
	}
}

// check reports what the API server would reject.
func (t *Toleration) check(f faults) {
	switch operator := t.Operator; {
	case operator != "" && operator != v1.TolerationOpExists && operator != v1.TolerationOpEqual:
		f.in("operator").add("%q is neither Exists nor Equal", t.Operator)
	case operator == v1.TolerationOpExists && t.Value != "":
		f.at("", "value").add("value is allowed only with operator Equal")
	case operator != v1.TolerationOpExists && t.Key == "":
		f.at("", "key").add("key is missing: it is optional only with operator Exists")
	}
	if t.Effect != "" && !validEffect(t.Effect) {
		f.in("effect").add("%q is not one of NoSchedule, PreferNoSchedule and NoExecute", t.Effect)
	}
	if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
		f.at("", "tolerationSeconds").add("tolerationSeconds is allowed only with effect NoExecute")
	}
}

func checkLabels(f faults, set map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
			f.at("", name).add("%q: %s", name, strings.Join(wrong, "; "))
		}
		checkLabel(f.in(name), set[name])
	}
}

func checkAmounts(f faults, amounts map[string]Quantity) {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
			f.at("", name).add("%q: %s", name, strings.Join(wrong, "; "))
		}
		if err := new(Quantity).UnmarshalText([]byte(amounts[name])); err != nil {
			f.in(name).add("%w", err)
		} else if amount := resource.MustParse(string(amounts[name])); checkAmount(v1.ResourceName(name), &amount) != nil {
			f.in(name).add("%s is too large", amounts[name])
		}
	}
}
