// Package taints says what taints and tolerations mean together, and which taints a node should have.
//
//	if taint, ok := taints.Untolerated(node.Spec.Taints, pod.Spec.Tolerations, false); ok {
//		return fmt.Errorf("node %s: taint %s is not tolerated", node.Name, taint.ToString())
//	}
//	stay := taints.Tolerate(node.Spec.Taints, pod.Spec.Tolerations, false)
//	switch {
//	case stay.Forever:
//	case stay.For > 0: // evicted stay.For after the taint began
//	default: // evicted at once
//	}
//
// Everything here is a pure function of its arguments: it reads no clock, calls no client and keeps nothing. All
// functions are safe for concurrent use as long as nobody changes their arguments meanwhile.
//
// # May a pod go there, and would it stay?
//
// [Untolerated] finds the taint that keeps a pod off a node, and [PreferNoSchedule] counts those that only make a node
// less attractive. [Tolerate] says how long a pod would stay under the taints
// that evict (NoExecute), and which taint and toleration decide.
//
// For each taint, only the pod's first matching toleration counts. A taint without a matching toleration ends the stay
// at once. Otherwise the smallest tolerationSeconds of the tolerations that count decides; zero or less means at once.
// If none of them has tolerationSeconds, the stay is for ever. The taint eviction controller of Kubernetes does the
// same.
//
// # When does it have to leave?
//
// The taints of a node seldom begin at the same time. Keep each with its start, as a [Begun]. [DeadlineOf] returns the
// pod's deadline, and the taint and toleration that decide. If a pod was bound after a taint began, its toleration
// counts from the binding.
//
//	deadline := taints.DeadlineOf(begun, bound, pod.Spec.Tolerations, nil, false)
//	if !deadline.Forever {
//		evictAt(pod, deadline.At) // because of deadline.Taint
//	}
//
// [PlausibleStart] returns the start of a taint that was there before you began to watch. The argument counts of
// DeadlineOf can leave taints out: your own on a node that has just reported Ready, for example.
//
// # Matching
//
// A toleration matches a taint if its key is empty or equal, its effect is empty or equal, and its operator holds.
// Exists always holds. Equal holds if the values are equal; an empty operator means Equal.
//
// Lt and Gt hold if the last argument, numeric, is true and the taint's value is less, or greater, than the
// toleration's. Both must be decimal int64 without plus sign, leading zeros or -0. Clusters before 1.35 do not know
// these operators: give false.
//
// The results are those of k8s.io/api. Tolerate and Untolerated allocate nothing.
//
// # Which taints a node should have
//
//	Ready False              node.kubernetes.io/not-ready            NoSchedule, NoExecute
//	Ready Unknown            node.kubernetes.io/unreachable          NoSchedule, NoExecute
//	MemoryPressure True      node.kubernetes.io/memory-pressure      NoSchedule
//	DiskPressure True        node.kubernetes.io/disk-pressure        NoSchedule
//	NetworkUnavailable True  node.kubernetes.io/network-unavailable  NoSchedule
//	PIDPressure True         node.kubernetes.io/pid-pressure         NoSchedule
//	spec.unschedulable       node.kubernetes.io/unschedulable        NoSchedule
//
// [ForConditions] returns the NoSchedule taints, [ForReady] the NoExecute one. [OwnNoSchedule] and [OwnNoExecute]
// recognise these taints, so that you can leave all others alone.
//
// # Changing them
//
// [Diff] says what to add and remove; an empty [Change] needs no write. [Change.Apply] applies it to a list,
// [Change.Patch] makes it one write. A swap between not-ready and unreachable is one outage and keeps TimeAdded.
// kube-controller-manager sets a new TimeAdded and writes twice, so that for a moment the node has both taints.
//
//	change := taints.Diff(node.Spec.Taints, want, taints.OwnNoSchedule)
//	if !change.Empty() {
//		body, err := change.Patch(node.Spec.Taints, node.UID, node.ResourceVersion, now)
//	}
package taints
