package simulation

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The oracle of Kubernetes 1.18 is compiled with this package and the API of its time. Later fields are looked up by
// name, and are empty there.

// later returns the field with that name of the pointer's target. It is not valid if there is none.
func later(of any, name string) reflect.Value { return reflect.ValueOf(of).Elem().FieldByName(name) }

// someLater says whether the slice or pointer in that field is not empty.
func someLater(of any, name string) bool {
	switch f := later(of, name); f.Kind() {
	case reflect.Slice:
		return f.Len() > 0
	case reflect.Pointer:
		return !f.IsNil()
	default:
		return false
	}
}

// sidecar says whether an init container goes on running beside the containers.
func sidecar(container *v1.Container) bool {
	return someLater(container, "RestartPolicy") && later(container, "RestartPolicy").Elem().String() == "Always"
}

// podResources returns what the pod requests as a whole, nil if it does not.
func podResources(spec *v1.PodSpec) v1.ResourceList {
	if !someLater(spec, "Resources") {
		return nil
	}
	whole, ok := later(spec, "Resources").Interface().(*v1.ResourceRequirements)
	if !ok {
		return nil
	}
	return whole.Requests
}

// namespaceSelector returns the term's, nil if it has none.
func namespaceSelector(term *v1.PodAffinityTerm) *metav1.LabelSelector {
	if !someLater(term, "NamespaceSelector") {
		return nil
	}
	selector, _ := later(term, "NamespaceSelector").Interface().(*metav1.LabelSelector)
	return selector
}

// firstOrdinal returns the ordinal of a StatefulSet's first pod.
func firstOrdinal(set *appsv1.StatefulSet) int {
	if !someLater(&set.Spec, "Ordinals") {
		return 0
	}
	return int(later(&set.Spec, "Ordinals").Elem().FieldByName("Start").Int())
}
