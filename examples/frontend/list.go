package frontend

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// list returns all objects of a resource, by name.
func (s *Server) list(resource string) (runtime.Object, error) {
	objects := s.objects[resource]
	keys := slices.Sorted(maps.Keys(objects))
	switch resource {
	case nodes:
		list := &v1.NodeList{ListMeta: listMeta}
		for _, key := range keys {
			list.Items = append(list.Items, *As[*v1.Node](objects[key]))
		}
		return list, nil
	case pods:
		list := &v1.PodList{ListMeta: listMeta}
		for _, key := range keys {
			list.Items = append(list.Items, *As[*v1.Pod](objects[key]))
		}
		return list, nil
	case leases:
		list := &coordinationv1.LeaseList{ListMeta: listMeta}
		for _, key := range keys {
			list.Items = append(list.Items, *As[*coordinationv1.Lease](objects[key]))
		}
		return list, nil
	case daemonSets:
		list := &appsv1.DaemonSetList{ListMeta: listMeta}
		for _, key := range keys {
			list.Items = append(list.Items, *As[*appsv1.DaemonSet](objects[key]))
		}
		return list, nil
	}
	return nil, fmt.Errorf("frontend: no %s here", resource)
}

// watcher is a watch that never overflows, unlike client-go's fake one.
type watcher struct {
	mu      sync.Mutex
	pending []watch.Event
	stopped bool
	wake    chan struct{}
	done    chan struct{}
	out     chan watch.Event
}

func newWatcher() *watcher {
	w := &watcher{wake: make(chan struct{}, 1), done: make(chan struct{}), out: make(chan watch.Event)}
	go w.pump()
	return w
}

func (w *watcher) add(event watch.Event) {
	w.mu.Lock()
	w.pending = append(w.pending, event)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) pump() {
	defer close(w.out)
	for {
		w.mu.Lock()
		events := w.pending
		w.pending = nil
		w.mu.Unlock()
		for _, event := range events {
			select {
			case w.out <- event:
			case <-w.done:
				return
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-w.wake:
		case <-w.done:
			return
		}
	}
}

// ResultChan returns the channel of events.
func (w *watcher) ResultChan() <-chan watch.Event { return w.out }

// Stop ends the watch.
func (w *watcher) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.stopped = true
		close(w.done)
	}
}
