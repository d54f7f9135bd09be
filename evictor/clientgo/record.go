package clientgo

import (
	"unique"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// record is what an informer needs to know of an object that is kept in a smaller form.
type record struct {
	namespace unique.Handle[string]
	name      string
	uid       types.UID
	version   string
}

func recordOf(o *metav1.ObjectMeta) record {
	return record{namespace: unique.Make(o.Namespace), name: o.Name, uid: o.UID, version: o.ResourceVersion}
}

// GetObjectMeta lets informers read the key and the resourceVersion.
func (r *record) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: r.namespace.Value(), Name: r.name, UID: r.uid, ResourceVersion: r.version}
}

// GetObjectKind makes it, with DeepCopyObject, a runtime.Object, of which lists are made.
func (r *record) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// slim is the part of the metadata that is kept of objects that keep their type.
func slim(o *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, CreationTimestamp: o.CreationTimestamp}
}

// conditionOf is the pod's condition of that type, nil when there is none.
func conditionOf(conditions []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
