// Package slim makes the objects that a Cluster keeps small: of each it leaves what an evictor reads and what a program has named,
// within bounds.
//
//	kept := slim.Keep{}.Pod(whole) // in an informer
//	kept.Show(&shown)              // as the evictor reads it
//
// Kept objects share labels and texts with others: nobody changes them.
package slim

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Keep names what is kept beside what every evictor reads.
type Keep struct {
	NodeAnnotations, PodAnnotations []string
	Owners                          bool // all owners of pods
	Controllers                     bool // of pods; the pods of one share a disruption budget
	DaemonSets                      bool // they are matched with the labels of pods
}

// Object returns what is kept of a node, a pod or the lease of a node, as an object of its kind, and others as they are.
func (k Keep) Object(obj any) any {
	switch o := obj.(type) {
	case *v1.Node:
		return k.Node(o)
	case *v1.Pod:
		small := new(v1.Pod)
		k.Pod(o).Show(small)
		return small
	case *coordinationv1.Lease:
		if o.Namespace == v1.NamespaceNodeLease {
			return Lease(o)
		}
	}
	return obj
}

// Lease keeps of a lease when it was renewed.
func Lease(whole *coordinationv1.Lease) runtime.Object {
	return &coordinationv1.Lease{ObjectMeta: metadata(&whole.ObjectMeta), Spec: coordinationv1.LeaseSpec{RenewTime: whole.Spec.RenewTime}}
}

// DaemonSet keeps a DaemonSet's selector.
func DaemonSet(whole *appsv1.DaemonSet) runtime.Object {
	selector := whole.Spec.Selector
	if selector != nil && selector.Size() > maxLabels {
		selector = everyPod
	}
	return &appsv1.DaemonSet{ObjectMeta: metadata(&whole.ObjectMeta), Spec: appsv1.DaemonSetSpec{Selector: selector}}
}

// everyPod selects every pod; an empty selector would not do, because in a DaemonSet it selects none.
var everyPod = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "evictkit.internal/none", Operator: metav1.LabelSelectorOpDoesNotExist}}}

// metadata returns the part of an object's metadata that is kept.
func metadata(o *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, CreationTimestamp: o.CreationTimestamp}
}
