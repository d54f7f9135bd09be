// Package taints answers what taints and tolerations mean together, and which taints a node should have.
//
// Everything here is a pure function of its arguments: no clock, no client, nothing kept. Functions are
// safe for concurrent use as long as nobody writes what they are given.
//
// # May it go there, and would it stay?
//
// [Untolerated] finds the taint that keeps a pod off a node. [Tolerate] says how long a pod would stay
// under the taints that evict, and which taint and toleration decide:
//
//	if taint, ok := taints.Untolerated(node.Spec.Taints, pod.Spec.Tolerations, taints.Scheduling); ok {
//		return fmt.Errorf("node %s: taint %s is not tolerated", node.Name, taint.ToString())
//	}
//	stay := taints.Tolerate(taints.NoExecute(node.Spec.Taints), pod.Spec.Tolerations)
//	switch {
//	case stay.Forever:
//	case stay.For > 0: // evicted stay.For after the taint began
//	default: // evicted at once
//	}
//
// For every taint the first toleration in the pod's order that matches it is used, and no other. A taint
// that none matches ends the stay at once; else the least finite tolerationSeconds of the tolerations
// used decides, where zero or less is at once; without a finite one the stay is for ever. This is what
// the taint eviction controller of Kubernetes does.
//
// # When does it have to leave?
//
// Taints of a node seldom begin together. Keep each with its start, as [Begun]; [DeadlineOf] gives the pod's deadline,
// and the taint and toleration that decide. A pod bound later than the taint began has its whole toleration from then
// on.
//
//	deadline := taints.DeadlineOf(begun, bound, pod.Spec.Tolerations, nil)
//	if !deadline.Forever {
//		evictAt(pod, deadline.At) // because of deadline.Taint
//	}
//
// [PlausibleStart] is the start of a taint that was there before anybody watched. The last argument of DeadlineOf
// leaves taints out: those of a node that has just reported Ready, for example.
//
// # Matching
//
// A toleration matches a taint when its key is empty or equal, its effect is empty or equal, and its
// operator holds: Exists always; Equal, also meant by an empty operator, when the values are equal; Lt and
// Gt by number, behind [Matcher.NumericOperators]. The results are those of k8s.io/api, whose own method
// this package cannot call: its signature changed with 0.35, and it logs. Nothing on this path allocates.
//
// # Which taints a node should have
//
//	Ready False           node.kubernetes.io/not-ready            NoSchedule, NoExecute
//	Ready Unknown         node.kubernetes.io/unreachable          NoSchedule, NoExecute
//	MemoryPressure True   node.kubernetes.io/memory-pressure      NoSchedule
//	DiskPressure True     node.kubernetes.io/disk-pressure        NoSchedule
//	NetworkUnavailable    node.kubernetes.io/network-unavailable  NoSchedule
//	PIDPressure True      node.kubernetes.io/pid-pressure         NoSchedule
//	spec.unschedulable    node.kubernetes.io/unschedulable        NoSchedule
//
// [ForConditions] gives the NoSchedule ones, [ForReady] the NoExecute one; of not-ready and unreachable
// there is never more than one. [OwnNoSchedule] and [OwnNoExecute] recognise them, so that taints of
// others are left alone.
//
// # Changing them
//
// [Diff] says what to add and remove; an empty [Change] needs no write. [Change.Apply] carries it out on
// a list, [Change.Patch] makes it one write. A swap between not-ready and unreachable is one outage and
// keeps TimeAdded: kube-controller-manager sets it anew, and writes twice, so that for a moment both are
// there.
//
//	change := taints.Diff(node.Spec.Taints, want, taints.OwnNoSchedule)
//	if !change.Empty() {
//		body, err := change.Patch(node.Spec.Taints, node.UID, node.ResourceVersion, now)
//	}
package taints
