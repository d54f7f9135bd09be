package taints

import v1 "k8s.io/api/core/v1"

// Effects is a set of taint effects. The zero set is empty. An effect that nobody knows is in no set.
type Effects uint8

// The effects, to be combined with |.
const (
	NoScheduleEffect Effects = 1 << iota
	PreferNoScheduleEffect
	NoExecuteEffect

	// Scheduling are the effects that keep a pod from being bound to a node.
	Scheduling = NoScheduleEffect | NoExecuteEffect
)

// effectOf is the set of one effect, and empty for one that nobody knows.
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

// Selection is a view of those taints of a slice that Tolerate is to look at. Making one copies nothing
// and allocates nothing; it sees what happens to the slice later. The zero Selection is empty.
type Selection struct {
	taints []v1.Taint
}

// NoExecute views the taints that evict running pods.
func NoExecute(taints []v1.Taint) Selection { return Selection{taints} }
