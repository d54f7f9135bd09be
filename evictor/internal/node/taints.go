package node

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// change is what makes the node's taints those that it should have under these conditions; lift says that a NoExecute one goes
// and none comes.
func (in *Input) change(conditions []v1.NodeCondition, tainted bool) (change taints.Change, lift bool) {
	have := in.Node.Spec.Taints
	want := taints.ForConditions(conditions, in.Node.Spec.Unschedulable)
	if in.Hold != "" {
		want = cordoned(in.Node)
	}
	if !in.TaintBased {
		return taints.Diff(have, want, taints.OwnNoSchedule), false
	}
	switch execute, keep := in.execute(tainted); {
	case keep && tainted:
		for i := range have {
			if taints.OwnNoExecute(&have[i]) {
				want = append(want, have[i])
			}
		}
		want = keepWithNoExecute(want, have)
	case execute.Key != "":
		execute.TimeAdded = in.Since
		want = keepWithNoExecute(append(want, execute), have)
	case tainted:
		lift = true
	}
	return taints.Diff(have, want, Managed), lift
}

// execute is the taint that the verdict asks for, if it may be there: the node has one already, or its turn. keep leaves what
// there is.
func (f *Facts) execute(tainted bool) (taint v1.Taint, keep bool) {
	switch s := f.Standing(); {
	case s == Unjudged || s == NoCondition:
		return v1.Taint{}, true
	case s == Settling && tainted, s.Wanted() && (tainted || f.Turn):
		taint, _ = taints.ForReady(f.Ready)
	}
	return taint, false
}

// Managed says whether a taint is one that we add and remove.
func Managed(t *v1.Taint) bool { return taints.OwnNoSchedule(t) || taints.OwnNoExecute(t) }

// HasNoExecute says whether the node has a NoExecute taint of ours.
func HasNoExecute(node *v1.Node) bool {
	for i := range node.Spec.Taints {
		if taints.OwnNoExecute(&node.Spec.Taints[i]) {
			return true
		}
	}
	return false
}

// cordoned keeps the taint of a cordoned node, which its operator asked for and not we, where it is.
func cordoned(node *v1.Node) (kept []v1.Taint) {
	for _, t := range node.Spec.Taints {
		if node.Spec.Unschedulable && t.Key == v1.TaintNodeUnschedulable && t.Effect == v1.TaintEffectNoSchedule {
			kept = append(kept, t)
		}
	}
	return kept
}

// keepWithNoExecute keeps the NoSchedule taint of an unready node for as long as its NoExecute one
// stays, so that both are lifted in one write and no pod is scheduled only to be evicted.
func keepWithNoExecute(want, have []v1.Taint) []v1.Taint {
	for i := range want {
		if ofReady(&want[i]) && want[i].Effect == v1.TaintEffectNoSchedule {
			return want
		}
	}
	for i := range have {
		if ofReady(&have[i]) && have[i].Effect == v1.TaintEffectNoSchedule {
			want = append(want, have[i])
		}
	}
	return want
}

func ofReady(t *v1.Taint) bool {
	return t.Key == v1.TaintNodeNotReady || t.Key == v1.TaintNodeUnreachable
}

// withoutHarm leaves of a change what needs no permission: lifting. What replaces one of our taints by
// another is left for later as a whole.
func withoutHarm(c taints.Change) (lift taints.Change) {
	swaps := map[v1.TaintEffect]bool{}
	for i := range c.Add {
		swaps[c.Add[i].Effect] = swaps[c.Add[i].Effect] || ofReady(&c.Add[i])
	}
	for i := range c.Remove {
		if t := c.Remove[i]; !swaps[t.Effect] || !ofReady(&t) {
			lift.Remove = append(lift.Remove, t)
		}
	}
	return lift
}
