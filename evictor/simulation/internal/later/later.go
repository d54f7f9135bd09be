// Package later reads fields of API objects that came after the oldest API with which this is compiled: by name, and as empty where
// they are missing. The oracle of Kubernetes 1.18 is compiled with the API of its time.
package later

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Field returns the field with that name of the pointer's target. It is not valid if there is none.
func Field(of any, name string) reflect.Value { return reflect.ValueOf(of).Elem().FieldByName(name) }

// Some says whether the slice or pointer in that field is not empty.
func Some(of any, name string) bool {
	switch f := Field(of, name); f.Kind() {
	case reflect.Slice:
		return f.Len() > 0
	case reflect.Pointer:
		return !f.IsNil()
	default:
		return false
	}
}

// Sidecar says whether an init container goes on running beside the containers.
func Sidecar(container *v1.Container) bool {
	return Some(container, "RestartPolicy") && Field(container, "RestartPolicy").Elem().String() == "Always"
}

// PodRequests returns what the pod requests as a whole, nil if it does not.
func PodRequests(spec *v1.PodSpec) v1.ResourceList {
	if !Some(spec, "Resources") {
		return nil
	}
	whole, ok := Field(spec, "Resources").Interface().(*v1.ResourceRequirements)
	if !ok {
		return nil
	}
	return whole.Requests
}

// NamespaceSelector returns the term's, nil if it has none.
func NamespaceSelector(term *v1.PodAffinityTerm) *metav1.LabelSelector {
	if !Some(term, "NamespaceSelector") {
		return nil
	}
	selector, _ := Field(term, "NamespaceSelector").Interface().(*metav1.LabelSelector)
	return selector
}
