package clientgo

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
)

// names holds the UID and resourceVersion of a pod whose UID is not a UUID or whose resourceVersion is not a number.
type names struct {
	uid     types.UID
	version string
}

// name sets the pod's key, UID and resourceVersion.
func (p *pod) name(o *metav1.ObjectMeta) {
	p.key, p.space = o.Name, uint16(len(o.Namespace)) //nolint:gosec // the API server allows 63 characters
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

// podKey returns the key that an evictor uses.
func (p *pod) podKey() evictor.PodKey {
	if p.space == 0 {
		return evictor.PodKey{Name: p.key}
	}
	return evictor.PodKey{Namespace: p.key[:p.space], Name: p.key[p.space+1:]}
}

// names returns the UID and the resourceVersion.
func (p *pod) names() names {
	if p.odd != nil {
		return *p.odd
	}
	return names{types.UID(p.uid.String()), strconv.FormatUint(p.version, 10)}
}

// GetObjectMeta lets informers read the key and the resourceVersion.
func (p *pod) GetObjectMeta() metav1.Object { return &about{nothing, p} }

// about is the part of the metadata that informers read. Its name is the whole key, so that they need not build a key for
// each object.
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

// GetObjectKind makes pod a runtime.Object, together with DeepCopyObject, so that it can be in a list.
func (p *pod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// slim returns the part of an object's metadata that is kept.
func slim(o *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, CreationTimestamp: o.CreationTimestamp}
}

// conditionOf returns the pod's condition of that type, or nil.
func conditionOf(conditions []v1.PodCondition, kind v1.PodConditionType) *v1.PodCondition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
