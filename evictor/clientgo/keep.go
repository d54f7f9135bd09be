package clientgo

import "github.com/evictkit/evictkit/evictor/clientgo/internal/slim"

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
// program that needs more uses whole objects, with Options.Informers.
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
	return (&Options{DaemonSets: true, EvictionAPI: true, Keep: k}).kept().Object(obj), nil
}

// none says whether nothing is named.
func (k Keep) none() bool { return len(k.NodeAnnotations)+len(k.PodAnnotations) == 0 && !k.Owners }

// kept is what is kept of objects.
func (o *Options) kept() slim.Keep {
	return slim.Keep{
		NodeAnnotations: o.Keep.NodeAnnotations, PodAnnotations: o.Keep.PodAnnotations, Owners: o.Keep.Owners, Controllers: o.EvictionAPI, DaemonSets: o.DaemonSets,
	}
}
