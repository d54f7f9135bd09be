package slim

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/cluster"
)

// names holds the UID and resourceVersion of a pod whose UID is not a UUID or whose resourceVersion is not a number.
type names struct {
	uid     types.UID
	version string
}

// name sets the pod's key, UID and resourceVersion.
func (p *Pod) name(o *metav1.ObjectMeta) {
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

// Key returns the key that an evictor uses.
func (p *Pod) Key() cluster.PodKey {
	if p.space == 0 {
		return cluster.PodKey{Name: p.key}
	}
	return cluster.PodKey{Namespace: p.key[:p.space], Name: p.key[p.space+1:]}
}

// Node returns the name of the node that the pod is bound to, or nothing.
func (p *Pod) Node() string { return p.node.Value() }

// names returns the UID and the resourceVersion.
func (p *Pod) names() names {
	if p.odd != nil {
		return *p.odd
	}
	return names{types.UID(p.uid.String()), strconv.FormatUint(p.version, 10)}
}

// GetObjectMeta lets informers read the key and the resourceVersion.
func (p *Pod) GetObjectMeta() metav1.Object { return &about{nothing, p} }

// about is the part of the metadata that informers read. Its name is the whole key, so that they need not build a key for
// each object.
type about struct {
	metav1.Object
	of *Pod
}

var nothing metav1.Object = &metav1.ObjectMeta{}

// GetName implements metav1.Object.
func (a *about) GetName() string { return a.of.key }

// GetUID implements metav1.Object.
func (a *about) GetUID() types.UID { return a.of.names().uid }

// GetResourceVersion implements metav1.Object.
func (a *about) GetResourceVersion() string { return a.of.names().version }

// GetObjectKind makes Pod a runtime.Object, together with DeepCopyObject, so that it can be in a list.
func (p *Pod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
