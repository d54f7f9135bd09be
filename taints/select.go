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
