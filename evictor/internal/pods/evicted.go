package pods

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"
)

// Evicted records the pods that are being evicted, and those that were evicted but that the store still shows. It is the
// only such record, so no pod is evicted twice for whatever reasons. K is the slot of a pod. The zero Evicted is ready to
// use.
type Evicted[K comparable] struct {
	now  map[K]struct{} // being evicted
	pods map[K]evicted
}

type evicted struct {
	uid  types.UID
	node string
}

// Begin admits an eviction of the pod in that slot, unless another is in flight. If it returns true, End must follow.
func (e *Evicted[K]) Begin(key K) bool {
	if _, busy := e.now[key]; busy {
		return false
	}
	if e.now == nil {
		e.now = make(map[K]struct{})
	}
	e.now[key] = struct{}{}
	return true
}

// End ends what Begin began; done says that the pod was evicted.
func (e *Evicted[K]) End(key K, uid types.UID, node string, done bool) {
	delete(e.now, key)
	if !done {
		return
	}
	if e.pods == nil {
		e.pods = make(map[K]evicted)
	}
	e.pods[key] = evicted{uid, node}
}

// Has says whether the pod was evicted and the store does not show that yet. Once the store shows the pod terminating, or
// another UID in its slot, the pod is forgotten.
func (e *Evicted[K]) Has(key K, uid types.UID, terminating bool) bool {
	was, ok := e.pods[key]
	if ok && (terminating || was.uid != uid) {
		e.Shown(key)
		return false
	}
	return ok
}

// Shown forgets the slot, because the store shows the eviction: nothing is in it any more.
func (e *Evicted[K]) Shown(key K) { delete(e.pods, key) }

// Forget forgets the pods of a node that is gone.
func (e *Evicted[K]) Forget(node string) {
	maps.DeleteFunc(e.pods, func(_ K, was evicted) bool { return was.node == node })
}
