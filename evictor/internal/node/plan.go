package node

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/taints"
)

// Input is what a plan is made from.
type Input struct {
	Facts
	Node *v1.Node // read-only
	// Unwritten says that the conditions which the verdict asks for are still to be written.
	Unwritten bool
	// Unmarked says that its pods are still to be marked not Ready.
	Unmarked bool
	// Since is the TimeAdded of a new taint that continues an outage. Nil means that of the taint it replaces, or now.
	Since *metav1.Time
}

// Plan is what to write to a node now. The zero Plan writes nothing.
type Plan struct {
	Conditions []v1.NodeCondition
	Change     taints.Change
	Labels     map[string]string
	Mark       bool // its pods not Ready
	Again      bool // there is more to do, after other nodes that wait for a worker
	Told       bool // set by the writer: conditions and taints are written, so what follows from them may begin

	Lift     bool // the change removes a NoExecute taint and adds none, or only removes taints
	Tainted  bool // the node has a NoExecute taint of ours (never without taints); the writer keeps it current
	HeldBack bool // harm was left out while writing, because it was not permitted or no longer wanted
	Waits    bool // harm was left out when this was planned, because of NoHarm
}

// Nothing says whether there is nothing to write.
func (p *Plan) Nothing() bool {
	return len(p.Conditions) == 0 && p.Change.Empty() && len(p.Labels) == 0 && !p.Mark
}

// Taints is the part of the plan that a worker for lifting writes: only taints, so that nothing else can delay them.
func (p Plan) Taints() Plan { return Plan{Change: p.Change, Lift: p.Lift, Tainted: p.Tainted} }

// Rest is the part for the other workers: everything but a change that lifts.
func (p Plan) Rest() Plan {
	if p.Lift {
		p.Change = taints.Change{}
	}
	return p
}

// Withhold removes from the plan what does harm.
func (p *Plan) Withhold() { p.Change, p.HeldBack = withoutHarm(p.Change), true }

// Harms says whether the change adds a NoExecute taint.
func (p *Plan) Harms() bool {
	return len(those(p.Change.Add, taints.OwnNoExecute)) > 0
}

// Plan compares the node with what it should be. It is cheap if nothing differs.
func (in *Input) Plan() Plan {
	p := Plan{Tainted: in.TaintBased && HasNoExecute(in.Node), Labels: staleLabels(in.Node.Labels), Mark: in.Unmarked && in.Marks()}
	conditions := in.Node.Status.Conditions
	if in.Unwritten && in.Expired && !in.Beat {
		p.Conditions = health.UnknownConditions(in.Node, in.Now.Add(-in.Ahead))
		conditions = Overlay(conditions, p.Conditions)
	}
	if p.Mark && len(p.Conditions) > 0 {
		// Its pods are marked later, so that other nodes which fell silent with it are declared Unknown first.
		p.Mark, p.Again = false, true
	}
	p.Change, p.Lift = in.change(conditions, p.Tainted)
	if all := len(p.Change.Add) + len(p.Change.Remove); in.NoHarm {
		p.Change = withoutHarm(p.Change)
		p.Waits = len(p.Change.Add)+len(p.Change.Remove) < all
	}
	p.Lift = p.Lift || len(p.Change.Add) == 0 && len(p.Change.Remove) > 0
	return p
}

// staleLabels returns the deprecated labels that differ from the stable ones, with the values of the stable ones.
func staleLabels(labels map[string]string) (stale map[string]string) {
	for _, pair := range [...][2]string{{v1.LabelOSStable, "beta.kubernetes.io/os"}, {v1.LabelArchStable, "beta.kubernetes.io/arch"}} {
		value, ok := labels[pair[0]]
		if old, there := labels[pair[1]]; !ok || there && old == value {
			continue
		}
		if stale == nil {
			stale = make(map[string]string, 2)
		}
		stale[pair[1]] = value
	}
	return stale
}

// ReadyOf returns the node's Ready condition, read-only, or an empty one.
func ReadyOf(node *v1.Node) *v1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == v1.NodeReady {
			return c
		}
	}
	return &v1.NodeCondition{}
}

// Overlay returns the conditions with those of changed replacing the ones of the same type, or added.
func Overlay(conditions, changed []v1.NodeCondition) []v1.NodeCondition {
	if len(changed) == 0 {
		return conditions
	}
	merged := append(make([]v1.NodeCondition, 0, len(conditions)+len(changed)), conditions...)
	for _, c := range changed {
		if i := slices.IndexFunc(merged, func(m v1.NodeCondition) bool { return m.Type == c.Type }); i >= 0 {
			merged[i] = c
		} else {
			merged = append(merged, c)
		}
	}
	return merged
}
