package environment

import (
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/seen"
)

// Evicted remembers the pods that were evicted until the store shows that they are gone.
type Evicted struct {
	mu   sync.Mutex
	pods map[cluster.PodKey]*evicted
	now  map[cluster.PodKey]bool // calls in flight
}

type evicted struct {
	cluster.PodRef
	version uint64 // with which it was seen terminating
}

// Begin says that a call begins; false if one about that pod is in flight, by the other half.
func (e *Evicted) Begin(pod cluster.PodKey) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now[pod] {
		return false
	}
	e.now[pod] = true
	return true
}

// End says that it has ended.
func (e *Evicted) End(pod cluster.PodKey) {
	e.mu.Lock()
	delete(e.now, pod)
	e.mu.Unlock()
}

// Note records an eviction.
func (e *Evicted) Note(pod cluster.PodRef) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pods[pod.PodKey] = &evicted{PodRef: pod}
}

// Was says whether the pod was evicted. A store that goes back may show it as it was before; one in which it lives on, with
// a newer version than it was seen terminating with, shows that the cluster went back.
func (e *Evicted) Was(pod *v1.Pod) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	key, version := cluster.RefOf(pod).PodKey, seen.Version(pod.ResourceVersion)
	switch was := e.pods[key]; {
	case was == nil:
		return false
	case pod.DeletionTimestamp != nil:
		was.version = max(was.version, version)
	case was.UID != pod.UID || was.version != 0 && version > was.version:
		delete(e.pods, key)
		return false
	}
	return true
}

// Gone forgets a pod that no store shows.
func (e *Evicted) Gone(pod cluster.PodKey) {
	e.mu.Lock()
	delete(e.pods, pod)
	e.mu.Unlock()
}

// NodeGone forgets the pods of a node.
func (e *Evicted) NodeGone(node string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, was := range e.pods {
		if was.Node == node {
			delete(e.pods, key)
		}
	}
}
