// Package taints has the names of upstream's pkg/util/taints that its tests use, on evictkit's taints.
package taints

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

func same(want *v1.Taint) func(*v1.Taint) bool {
	return func(t *v1.Taint) bool { return t.Key == want.Key && t.Effect == want.Effect }
}

func AddOrUpdateTaint(node *v1.Node, taint *v1.Taint) (*v1.Node, bool, error) {
	node = node.DeepCopy()
	change := taints.Diff(node.Spec.Taints, []v1.Taint{*taint}, same(taint))
	if !change.Empty() {
		node.Spec.Taints = change.Apply(node.Spec.Taints, time.Time{})
	}
	return node, !change.Empty(), nil
}

func RemoveTaint(node *v1.Node, taint *v1.Taint) (*v1.Node, bool, error) {
	node = node.DeepCopy()
	left, changed := DeleteTaint(node.Spec.Taints, taint)
	node.Spec.Taints = left
	return node, changed, nil
}

func DeleteTaint(have []v1.Taint, taint *v1.Taint) ([]v1.Taint, bool) {
	return without(have, same(taint))
}

func DeleteTaintsByKey(have []v1.Taint, key string) ([]v1.Taint, bool) {
	return without(have, func(t *v1.Taint) bool { return t.Key == key })
}

func without(have []v1.Taint, managed func(*v1.Taint) bool) ([]v1.Taint, bool) {
	change := taints.Diff(have, nil, managed)
	return change.Apply(have, time.Time{}), !change.Empty()
}

func TaintExists(have []v1.Taint, taint *v1.Taint) bool {
	return !taints.Diff(have, nil, same(taint)).Empty()
}

func TaintKeyExists(have []v1.Taint, key string) bool {
	return !taints.Diff(have, nil, func(t *v1.Taint) bool { return t.Key == key }).Empty()
}

func TaintSetDiff(want, have []v1.Taint) (add, remove []*v1.Taint) {
	change := taints.Diff(have, want, nil)
	for i := range change.Add {
		add = append(add, &change.Add[i])
	}
	for i := range change.Remove {
		remove = append(remove, &change.Remove[i])
	}
	return add, remove
}
