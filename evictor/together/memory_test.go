package together

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/taints"
)

// stores show what is put into them: a test plays a store that lags.
type stores struct {
	cluster.NodeStore
	cluster.PodStore
	pods  map[cluster.PodKey]*v1.Pod
	since time.Time // when each node became not Ready
	reads atomic.Int64
}

func (s *stores) Node(name string) (*v1.Node, bool) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{Taints: []v1.Taint{*taint}}}
	node.Status.Conditions = []v1.NodeCondition{
		{Type: v1.NodeMemoryPressure, LastTransitionTime: metav1.NewTime(time.Unix(10, 0))},
		{Type: v1.NodeReady, LastTransitionTime: metav1.NewTime(s.since)},
	}
	return node, true
}

func (s *stores) Pod(key cluster.PodKey) (*v1.Pod, bool) {
	s.reads.Add(1)
	pod, ok := s.pods[key]
	return pod, ok
}

func (s *stores) add(name string) cluster.PodRef {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}, Spec: v1.PodSpec{NodeName: "n-" + name}}
	s.pods[cluster.RefOf(pod).PodKey] = pod
	return cluster.RefOf(pod)
}

type writer struct {
	nodelifecycle.PodWriter
	evict func(pod cluster.PodRef) error
}

func (w *writer) Evict(_ context.Context, pod cluster.PodRef, _ taints.Deadline) error {
	return w.evict(pod)
}

var (
	taint = &v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute}
	why   = taints.Deadline{Taint: taint, Toleration: -1, At: time.Unix(1001, 0)}
)

// A pod that is condemned while it leaves with another one waits for that, and leaves once, even if the store lags.
func TestCondemnedWhileItLeavesWithAnother(t *testing.T) {
	s := &stores{pods: make(map[cluster.PodKey]*v1.Pod)}
	a, b := s.add("a"), s.add("b")
	s.add("aa")
	other := s.add("c")
	var evicted []string
	begun, proceed := make(chan struct{}), make(chan struct{})
	w := &Writer{Nodes: s, Pods: s, Group: func(pod *v1.Pod) []cluster.PodKey {
		if pod.Name == other.Name {
			return []cluster.PodKey{{Namespace: "default", Name: "aa"}, b.PodKey}
		}
		return []cluster.PodKey{a.PodKey, b.PodKey}
	}}
	w.PodWriter = &writer{evict: func(pod cluster.PodRef) error {
		if evicted = append(evicted, pod.Name); len(evicted) == 1 {
			close(begun)
			<-proceed
		}
		return nil
	}}
	done := make(chan error)
	go func() { done <- w.Evict(context.Background(), a, why) }()
	<-begun
	err := w.Evict(context.Background(), b, why)
	var no *gate.Refused
	require.ErrorAs(t, err, &no)
	require.Equal(t, "Together", no.Reason)
	require.EqualError(t, no, "pod default/a of its group: it leaves right now")
	require.ErrorAs(t, w.Evict(context.Background(), other, why), &no, "one of its group leaves with others")
	close(proceed)
	require.NoError(t, <-done)
	for _, pod := range []cluster.PodRef{b, a} {
		require.True(t, apierrors.IsNotFound(w.Evict(context.Background(), pod, why)), "the evictor takes that as done, and tells nobody")
	}
	require.Equal(t, []string{"b", "a"}, evicted)
}

// Groups leave side by side, and those that are condemned twice leave once.
func TestGroupsLeaveSideBySide(t *testing.T) {
	s := &stores{pods: make(map[cluster.PodKey]*v1.Pod)}
	var evicted atomic.Int64
	w := &Writer{Nodes: s, Pods: s, PodWriter: &writer{evict: func(cluster.PodRef) error { evicted.Add(1); return nil }}}
	w.Group = func(pod *v1.Pod) []cluster.PodKey {
		return []cluster.PodKey{{Namespace: "default", Name: "with-" + pod.Name}}
	}
	var all []cluster.PodRef
	for i := range 200 {
		all = append(all, s.add(fmt.Sprint(i)))
		s.add(fmt.Sprint("with-", i))
	}
	var workers sync.WaitGroup
	for range 4 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for _, pod := range all {
				_ = w.Evict(context.Background(), pod, why)
			}
		}()
	}
	workers.Wait()
	require.EqualValues(t, 2*len(all), evicted.Load())
	require.Empty(t, w.leaving)
}

// What the store shows as gone is forgotten. While it shows nothing, remembering costs as much for the last pod as for the first.
func TestMemoryIsBounded(t *testing.T) {
	s := &stores{pods: make(map[cluster.PodKey]*v1.Pod)}
	w := &Writer{Nodes: s, Pods: s, PodWriter: &writer{evict: func(cluster.PodRef) error { return nil }}}
	most := 0
	for i := range 20_000 {
		if i == 10_000 {
			s.reads.Store(0)
		}
		a, b := s.add(fmt.Sprint("a", i)), s.add(fmt.Sprint("b", i))
		w.Group = func(*v1.Pod) []cluster.PodKey { return []cluster.PodKey{b.PodKey} }
		require.NoError(t, w.Evict(context.Background(), a, why))
		if i >= 10_000 {
			continue
		}
		delete(s.pods, a.PodKey)
		s.pods[b.PodKey].DeletionTimestamp = &metav1.Time{}
		most = max(most, len(w.left))
	}
	require.LessOrEqual(t, most, 8)
	require.Less(t, s.reads.Load(), int64(20*10_000))
	require.Empty(t, w.leaving)
}
