package slim

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// maxTaints bounds what is kept of one node's taints, in bytes. The API server bounds only the whole object.
const maxTaints = 16 << 10

// taintsCut is an annotation on a kept node whose taints were not all kept.
const taintsCut = "evictkit.internal/taints-cut"

// writtenTaints are the keys of the taints that an evictor writes.
var writtenTaints = []string{
	v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeUnschedulable, v1.TaintNodeMemoryPressure, v1.TaintNodeDiskPressure,
	v1.TaintNodePIDPressure, v1.TaintNodeNetworkUnavailable,
}

// taintsOf returns the taints that are kept, in their order: all, if they fit maxTaints. Otherwise they are those that
// an evictor writes and, as far as there is room, the first NoExecute taints: a pod may then stay that one of the others
// would have evicted.
func taintsOf(whole []v1.Taint) (kept []v1.Taint, cut bool) {
	size := 0
	for i := range whole {
		size += sizeOf(&whole[i])
	}
	if size <= maxTaints {
		return whole, false
	}
	keep, room := make([]bool, len(whole)), maxTaints
	for _, wanted := range []func(*v1.Taint) bool{
		func(t *v1.Taint) bool { return slices.Contains(writtenTaints, t.Key) },
		func(t *v1.Taint) bool { return t.Effect == v1.TaintEffectNoExecute },
	} {
		for i := range whole {
			if t := &whole[i]; !keep[i] && wanted(t) && sizeOf(t) <= room {
				keep[i], room = true, room-sizeOf(t)
			}
		}
	}
	for i := range whole {
		if keep[i] {
			kept = append(kept, whole[i])
		}
	}
	return kept, true
}

// sizeOf estimates how many bytes a taint takes.
func sizeOf(t *v1.Taint) int {
	const itself = 80
	return itself + len(t.Key) + len(t.Value) + len(t.Effect)
}

// LacksTaints says whether not all taints of the node were kept.
func LacksTaints(kept *v1.Node) bool {
	_, cut := kept.Annotations[taintsCut]
	return cut
}
