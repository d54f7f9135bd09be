package clientgo

import (
	"maps"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
)

// Keep names what the informers keep of nodes and pods for the program: for the evictor's Options.Hold, Domain and
// Excluded, for its Gate, and for other code that reads the stores. They always keep labels. The zero Keep names nothing more.
//
// They keep only this:
//
//   - of a node: its name, UID, resourceVersion, creation time, labels, taints, and whether it is unschedulable; of its
//     conditions Ready, MemoryPressure, DiskPressure, PIDPressure and NetworkUnavailable, and of those that announce
//     maintenance, the status, reason and times; and the annotations in NodeAnnotations
//   - of a pod: its namespace, name, UID, resourceVersion, the times of its creation, start and deletion, labels, node,
//     tolerations, phase and generation; of its conditions the status of Ready and, if true, PodScheduled with its time and the
//     DisruptionTarget that an evictor writes; whether it is a mirror pod; whether a DaemonSet controls it, and its controller
//     with Options.EvictionAPI; the annotations in PodAnnotations; and, with Owners, its owners
//   - of a lease in kube-node-lease: its namespace, name, UID, resourceVersion, creation time, and when it was renewed
//   - of a DaemonSet, watched only with Options.DaemonSets, the same metadata and its selector
//
// All else reads as if it were not set: other annotations and owners, finalizers, managed fields, messages, other
// conditions, addresses, images, capacity and allocatable, containers with their requests and limits, volumes. Very
// large objects lose more: see "What is watched, and what is kept" in the package's documentation.
//
// Times of pods are whole seconds, as in the API. Kept objects share labels and texts with others: never change them. A
// program that needs more uses whole objects, with Options.Factory or Options.Informers.
type Keep struct {
	// NodeAnnotations and PodAnnotations are keys of annotations: one by which the evictor's Options.Hold knows nodes
	// under repair, for example, or one that names a pod's gang.
	NodeAnnotations, PodAnnotations []string
	// Owners keeps the OwnerReferences of pods. The pods of one owner share them.
	Owners bool
}

// Slim is a transform function (cache.TransformFunc) for other informers, such as DefaultTransform of a manager's cache:
//
//	options.Cache.DefaultTransform = clientgo.Keep{}.Slim
//
// Of nodes, pods and the leases in kube-node-lease it leaves what Keep says, and of every pod its controller. Other
// readers of that cache must do without the rest. Objects of other kinds stay as they are. Slim never returns an error.
func (k Keep) Slim(obj any) (any, error) {
	switch o := obj.(type) {
	case *v1.Node:
		return k.slimNode(o), nil
	case *v1.Pod:
		small := new(v1.Pod)
		slimPod(&Options{DaemonSets: true, EvictionAPI: true, Keep: k}, o).show(small)
		return small, nil
	case *coordinationv1.Lease:
		if o.Namespace == v1.NamespaceNodeLease {
			return slimLease(o), nil
		}
	}
	return obj, nil
}

// none says whether nothing is named.
func (k Keep) none() bool { return len(k.NodeAnnotations)+len(k.PodAnnotations) == 0 && !k.Owners }

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
