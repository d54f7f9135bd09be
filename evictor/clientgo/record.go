package clientgo

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
)

// names are of an object whose UID is none as API servers make them, or its resourceVersion no number.
type names struct {
	uid     types.UID
	version string
}

// name has the pod carry its names.
func (p *pod) name(o *metav1.ObjectMeta) {
	p.key, p.space = o.Name, uint16(len(o.Namespace)) //nolint:gosec // an API server takes 63
	if p.space > 0 {
		p.key = o.Namespace + "/" + o.Name
	}
	uid, usual := uuidOf(o.UID)
	version, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	if !usual || err != nil || strconv.FormatUint(version, 10) != o.ResourceVersion {
		p.odd = &names{types.UID(short(string(o.UID))), short(o.ResourceVersion)}
		return
	}
	p.uid, p.version = uid, version
}

// podKey is the key as an evictor has it.
func (p *pod) podKey() evictor.PodKey {
	if p.space == 0 {
		return evictor.PodKey{Name: p.key}
	}
	return evictor.PodKey{Namespace: p.key[:p.space], Name: p.key[p.space+1:]}
}

// names are those of the object.
func (p *pod) names() names {
	if p.odd != nil {
		return *p.odd
	}
	return names{types.UID(p.uid.String()), strconv.FormatUint(p.version, 10)}
}

// GetObjectMeta lets informers read the key and the resourceVersion.
func (p *pod) GetObjectMeta() metav1.Object { return &about{nothing, p} }

// about is the metadata as far as informers read them. The name is the whole key, so that they need not put one together for each
// object.
type about struct {
	metav1.Object
	of *pod
}

var nothing metav1.Object = &metav1.ObjectMeta{}

// GetName implements metav1.Object.
func (a *about) GetName() string { return a.of.key }

// GetUID implements metav1.Object.
func (a *about) GetUID() types.UID { return a.of.names().uid }

// GetResourceVersion implements metav1.Object.
func (a *about) GetResourceVersion() string { return a.of.names().version }

// GetObjectKind makes it, with DeepCopyObject, a runtime.Object, of which lists are made.
func (p *pod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

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
