package taints

import v1 "k8s.io/api/core/v1"

// Effects is a set of taint effects: any of [NoScheduleEffect], [PreferNoScheduleEffect] and [NoExecuteEffect], or
// [Scheduling] for the two that keep a pod from being bound. The zero set is empty. An unknown effect is in no set.
type Effects uint8

// The effects, to be combined with |.
const (
	NoScheduleEffect Effects = 1 << iota
	PreferNoScheduleEffect
	NoExecuteEffect

	// Scheduling are the effects that keep a pod from being bound to a node.
	Scheduling Effects = NoScheduleEffect | NoExecuteEffect
)

// effectOf returns the set of one effect, empty for an unknown one.
func effectOf(effect v1.TaintEffect) Effects {
	switch effect {
	case v1.TaintEffectNoSchedule:
		return NoScheduleEffect
	case v1.TaintEffectNoExecute:
		return NoExecuteEffect
	case v1.TaintEffectPreferNoSchedule:
		return PreferNoScheduleEffect
	}
	return 0
}

// Selection is a view of the taints in a slice that Tolerate looks at. Making one copies and allocates nothing, so it
// shows later changes of the slice. The zero Selection is empty.
type Selection struct {
	taints []v1.Taint
}

// NoExecute returns a view of the taints that evict running pods.
func NoExecute(taints []v1.Taint) Selection { return Selection{taints} }
