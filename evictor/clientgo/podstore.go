package clientgo

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo/internal/slim"
)

// podStore reads the informer's pods, compact or whole.
type podStore struct {
	pods       reader
	daemonSets cache.Indexer // nil: only ownership counts
}

// Pod implements cluster.PodStore.
func (s *podStore) Pod(key evictor.PodKey) (*v1.Pod, bool) {
	obj, ok, err := s.pods.GetByKey(key.String())
	if err != nil || !ok {
		return nil, false
	}
	shown, ok := s.shown(obj, new(v1.Pod))
	return shown, ok
}

// PodsOnNode implements cluster.PodStore. Compact pods are all shown in one object.
func (s *podStore) PodsOnNode(node string, visit func(*v1.Pod) bool) {
	objs, err := s.pods.ByIndex(indexByNode, node)
	if err != nil {
		return // cannot happen: the index was added with the informer
	}
	var buffer v1.Pod
	for _, obj := range objs {
		if shown, ok := s.shown(obj, &buffer); ok && !visit(shown) {
			return
		}
	}
}

// shown returns the pod as the evictor reads it. A compact pod is written into the buffer.
func (s *podStore) shown(obj any, buffer *v1.Pod) (*v1.Pod, bool) {
	var shown *v1.Pod
	switch p := obj.(type) {
	case *slim.Pod:
		p.Show(buffer)
		shown = buffer
	case *v1.Pod:
		shown = p
	default:
		return nil, false
	}
	if s.daemonSets == nil || !s.selected(shown) {
		return shown, true
	}
	return slim.OfADaemonSet(shown), true
}

// selected says whether a DaemonSet selects the pod, owned or not.
func (s *podStore) selected(p *v1.Pod) bool {
	sets, err := s.daemonSets.ByIndex(cache.NamespaceIndex, p.Namespace)
	return err == nil && slices.ContainsFunc(sets, func(obj any) bool {
		set, ok := obj.(*appsv1.DaemonSet)
		if !ok {
			return false
		}
		selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
		return err == nil && !selector.Empty() && selector.Matches(labels.Set(p.Labels))
	})
}
