package taints

import v1 "k8s.io/api/core/v1"

// Effects is a set of taint effects. The zero set is empty.
type Effects uint8

// The effects, and the set that decides whether a pod may be bound to a node.
const (
	NoScheduleEffect Effects = 1 << iota
	PreferNoScheduleEffect
	NoExecuteEffect

	Scheduling = NoScheduleEffect | NoExecuteEffect
)

// has says whether the effect is in the set; one that nobody knows never is.
func (e Effects) has(effect v1.TaintEffect) bool {
	switch effect {
	case v1.TaintEffectNoSchedule:
		return e&NoScheduleEffect != 0
	case v1.TaintEffectNoExecute:
		return e&NoExecuteEffect != 0
	case v1.TaintEffectPreferNoSchedule:
		return e&PreferNoScheduleEffect != 0
	}
	return false
}

// Selection is a view of those taints of a slice that have certain effects. Making one copies nothing
// and allocates nothing; it is valid for as long as the slice is.
type Selection struct {
	taints  []v1.Taint
	effects Effects
}

// Select views the taints with one of the effects.
func Select(taints []v1.Taint, effects Effects) Selection { return Selection{taints, effects} }

// NoExecute views the taints that evict.
func NoExecute(taints []v1.Taint) Selection { return Selection{taints, NoExecuteEffect} }

// NoSchedule views the taints that only keep pods away.
func NoSchedule(taints []v1.Taint) Selection { return Selection{taints, NoScheduleEffect} }
