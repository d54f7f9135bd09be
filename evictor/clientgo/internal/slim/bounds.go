package slim

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// What is kept is bounded in bytes, because API servers bound only the whole object.
const (
	// maxLabels bounds the labels of a pod and the selector of a DaemonSet. With DaemonSets, a pod with more labels counts as
	// a DaemonSet's, and a DaemonSet with a longer selector selects every pod of its namespace. Their authors gain nothing
	// from this: they could have written as much in few bytes.
	maxLabels = 16 << 10
	// maxNodeLabels is larger, because programs that discover the features of a machine write hundreds of labels.
	maxNodeLabels = 64 << 10
	// maxAnnotations bounds the named annotations of a node or of a pod.
	maxAnnotations = 16 << 10
	// maxOwners bounds the owners of a pod.
	maxOwners = 4 << 10
)

// readLabels are the labels of a node that the evictor reads.
var readLabels = []string{
	v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion,
	"node.kubernetes.io/exclude-disruption", v1.LabelOSStable, v1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// fitting returns the set itself if it fits into so many bytes. Otherwise it returns the entries that fit: first those of
// the first keys, then the others in the order of their keys.
func fitting(set map[string]string, most int, first ...string) map[string]string {
	if bytesOf(set) <= most {
		return set
	}
	kept := make(map[string]string)
	for _, key := range append(slices.Clone(first), slices.Sorted(maps.Keys(set))...) {
		value, has := set[key]
		_, twice := kept[key]
		if size := bytesOfEntry(key, value); has && !twice && size <= most {
			kept[key], most = value, most-size
		}
	}
	return kept
}

// named returns the entries of the keys, nil if there are none.
func named(set map[string]string, keys []string) (kept map[string]string) {
	for _, key := range keys {
		if value, has := set[key]; has {
			if kept == nil {
				kept = make(map[string]string)
			}
			kept[key] = value
		}
	}
	return kept
}

// bytesOf estimates how many bytes labels or annotations take.
func bytesOf(set map[string]string) (size int) {
	for key, value := range set {
		size += bytesOfEntry(key, value)
	}
	return size
}

func bytesOfEntry(key, value string) int {
	const itself = 40
	return itself + len(key) + len(value)
}
