package node

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// change returns the change that gives the node the taints it should have under these conditions. lift says that it
// removes a NoExecute taint and adds none.
func (in *Input) change(conditions []v1.NodeCondition, tainted bool) (change taints.Change, lift bool) {
	have := in.Node.Spec.Taints
	want := taints.ForConditions(conditions, in.Node.Spec.Unschedulable)
	if in.Hold != "" {
		want = nil
		if in.Node.Spec.Unschedulable { // the operator cordoned the node, not we: the taint of that stays if it is there
			want = those(have, ofCordon)
		}
	}
	if !in.TaintBased {
		return taints.Diff(have, want, taints.OwnNoSchedule), false
	}
	switch execute, keep := in.execute(tainted); {
	case keep && tainted:
		want = keepUnready(append(want, those(have, taints.OwnNoExecute)...), have)
	case execute.Key != "":
		execute.TimeAdded = in.Since
		want = keepUnready(append(want, execute), have)
	case tainted:
		lift = true
	}
	return taints.Diff(have, want, Managed), lift
}

// execute returns the NoExecute taint that the verdict asks for, if the node may have it: it has one already, or its turn.
// keep means that existing taints stay as they are.
func (f Facts) execute(tainted bool) (taint v1.Taint, keep bool) {
	switch s := f.Standing(); {
	case s == Unjudged || s == NoCondition:
		return taint, true
	case s == Settling && tainted, s.Wanted() && (tainted || f.Turn):
		taint, _ = taints.ForReady(f.Ready)
	}
	return taint, false
}

// keepUnready keeps the NoSchedule taint of an unready node for as long as its NoExecute taint stays, so that both are
// lifted in one write and no pod is scheduled there only to be evicted.
func keepUnready(want, have []v1.Taint) []v1.Taint {
	if len(those(want, ofUnready)) > 0 {
		return want
	}
	return append(want, those(have, ofUnready)...)
}

// withoutHarm returns the part of a change that needs no permission: lifting. A swap of one of our taints for another, or
// for itself with another value, is left out as a whole.
func withoutHarm(c taints.Change) (lift taints.Change) {
	lift.Remove = those(c.Remove, func(t *v1.Taint) bool {
		return !slices.ContainsFunc(c.Add, func(add v1.Taint) bool {
			return add.MatchTaint(t) || ofReady(t) && ofReady(&add) && add.Effect == t.Effect
		})
	})
	return lift
}

// Managed says whether a taint is one that we add and remove.
func Managed(t *v1.Taint) bool { return taints.OwnNoSchedule(t) || taints.OwnNoExecute(t) }

// HasNoExecute says whether the node has a NoExecute taint of ours.
func HasNoExecute(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return taints.OwnNoExecute(&t) })
}

// TaintedSince is when the node got the first of its NoExecute taints of ours, zero where that is not known.
func TaintedSince(node *v1.Node) (since time.Time) {
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; taints.OwnNoExecute(t) && t.TimeAdded != nil && (since.IsZero() || t.TimeAdded.Time.Before(since)) {
			since = t.TimeAdded.Time
		}
	}
	return since
}

func ofReady(t *v1.Taint) bool {
	return t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable
}

func ofUnready(t *v1.Taint) bool { return ofReady(t) && t.Effect == v1.TaintEffectNoSchedule }

func ofCordon(t *v1.Taint) bool { return t.Key == v1.TaintNodeUnschedulable }

func those(list []v1.Taint, is func(*v1.Taint) bool) (some []v1.Taint) {
	for i := range list {
		if is(&list[i]) {
			some = append(some, list[i])
		}
	}
	return some
}
