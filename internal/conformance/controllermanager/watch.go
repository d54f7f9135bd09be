package controllermanager

import (
	"slices"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// watcher is a watch that never overflows: it reads what happened at its own pace.
type watcher struct {
	out  chan watch.Event
	done chan struct{}
	stop func()
}

func (s *store) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	from := uint64(0)
	if a, ok := action.(clienttesting.WatchActionImpl); ok {
		from, _ = strconv.ParseUint(a.GetWatchRestrictions().ResourceVersion, 10, 64)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kind(action.GetResource().Resource)
	read := slices.IndexFunc(k.past, func(e watch.Event) bool {
		version, _ := strconv.ParseUint(metaOf(e.Object).GetResourceVersion(), 10, 64)
		return version > from
	})
	switch {
	case read < 0:
		read = len(k.past)
	case read == 0 && k.dropped > 0:
		return true, nil, apierrors.NewResourceExpired("the watch begins too long ago")
	}
	read += k.dropped
	w := &watcher{out: make(chan watch.Event), done: make(chan struct{})}
	w.stop = sync.OnceFunc(func() {
		close(w.done)
		s.mu.Lock()
		defer s.mu.Unlock()
		k.news.Broadcast()
	})
	go w.pump(s, k, read)
	return true, w, nil
}

func (w *watcher) pump(s *store, k *kind, read int) {
	defer close(w.out)
	for {
		s.mu.Lock()
		for read == k.dropped+len(k.past) && !w.stopped() {
			k.news.Wait()
		}
		if read < k.dropped { // the reflector lists anew
			s.mu.Unlock()
			return
		}
		events := k.past[read-k.dropped:]
		s.mu.Unlock()
		read += len(events)
		for _, event := range events {
			select {
			case w.out <- event:
			case <-w.done:
				return
			}
		}
		if w.stopped() {
			return
		}
	}
}

func (w *watcher) stopped() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func (w *watcher) ResultChan() <-chan watch.Event { return w.out }

func (w *watcher) Stop() { w.stop() }

func podFields(pod *v1.Pod) fields.Set {
	return fields.Set{"spec.nodeName": pod.Spec.NodeName, "metadata.name": pod.Name}
}

func isReady(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	})
}

// setReady writes the Ready condition, and when it changed: the Job controller takes that for the end of a failed pod. A pod has
// none before its kubelet says that it is Ready.
func setReady(pod *v1.Pod, ready bool, at metav1.Time) {
	c := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse, LastTransitionTime: at}
	if ready {
		c.Status = v1.ConditionTrue
	}
	i := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady })
	if i < 0 && ready {
		pod.Status.Conditions = append(pod.Status.Conditions, c)
	} else if i >= 0 && pod.Status.Conditions[i].Status != c.Status {
		pod.Status.Conditions[i] = c
	}
}
