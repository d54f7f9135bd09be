package together

import (
	"errors"
	"maps"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
)

var errLeaves = errors.New("it leaves right now")

// claim notes that these pods leave, or refuses if one of them leaves already.
func (w *Writer) claim(leaving []member) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range leaving {
		if w.leaving[m.ref.PodKey] {
			return refused(m.ref, &gate.Refused{Reason: "Together", Err: errLeaves})
		}
	}
	if w.leaving == nil {
		w.leaving, w.left = make(map[cluster.PodKey]bool), make(map[cluster.PodKey]cluster.PodRef)
	}
	for _, m := range leaving {
		w.leaving[m.ref.PodKey] = true
	}
	return nil
}

func (w *Writer) release(leaving []member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range leaving {
		delete(w.leaving, m.ref.PodKey)
	}
}

// hasLeft says whether the pod was evicted.
func (w *Writer) hasLeft(pod cluster.PodRef) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left[pod.PodKey] == pod
}

// note remembers that the pod was evicted. It forgets those that the store shows as gone each time their number has doubled,
// so that this costs no more than remembering them.
func (w *Writer) note(pod cluster.PodRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) >= w.sweepAt {
		maps.DeleteFunc(w.left, func(key cluster.PodKey, was cluster.PodRef) bool {
			object, _ := w.Pods.Pod(key)
			return !was.Shows(object) || !stays(object)
		})
		w.sweepAt = 2 * len(w.left)
	}
	w.left[pod.PodKey] = pod
}
