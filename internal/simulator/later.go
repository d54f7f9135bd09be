package simulator

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The oracle of Kubernetes 1.18 is compiled with this package and the API of its time. Fields that came later are
// looked up by name, and are empty there.

// later is the field of that name of what the pointer points to; it is not valid where there is none.
func later(of any, name string) reflect.Value { return reflect.ValueOf(of).Elem().FieldByName(name) }

// someLater says whether the slice or pointer in that field holds anything.
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

// sidecar says whether an init container goes on to run beside the containers.
func sidecar(container *v1.Container) bool {
	return someLater(container, "RestartPolicy") && later(container, "RestartPolicy").Elem().String() == "Always"
}

// podResources are what the pod requests as a whole, nil when it does not.
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

// namespaceSelector is a term's, nil when it has none.
func namespaceSelector(term *v1.PodAffinityTerm) *metav1.LabelSelector {
	if !someLater(term, "NamespaceSelector") {
		return nil
	}
	selector, _ := later(term, "NamespaceSelector").Interface().(*metav1.LabelSelector)
	return selector
}
