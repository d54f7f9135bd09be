package together_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	leave "github.com/evictkit/evictkit/evictor/together"
	"github.com/evictkit/evictkit/examples/together"
)

func node(name string) *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func pod(name, on string, change func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: on}}
	change(pod)
	return pod
}

func jobSet(name string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels = map[string]string{together.JobSet: name} }
}

func kept(name, keep string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels = map[string]string{together.JobSet: name, together.Keep: keep} }
}

func podGroup(name string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name} }
}

// groups are PodGroups: all of "gang" or none, and anybody of "set".
func groups(_, name string) *schedulingv1beta1.PodGroup {
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if name == "gang" {
		group.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	}
	return group
}

// Node a fails. Pods that train together leave together, the one on the failed node last; a kept group leaves later. The
// rest of a set goes on.
func TestAGangLeavesTogether(t *testing.T) {
	alone := func(*v1.Pod) {}
	s := simulation.Scenario{
		Nodes: []*v1.Node{node("a"), node("b"), node("c"), node("d")},
		Pods: []*v1.Pod{
			pod("train-0", "a", jobSet("train")), pod("train-1", "b", jobSet("train")), pod("train-2", "c", jobSet("train")), pod("other-0", "b", jobSet("other")),
			pod("gang-0", "c", podGroup("gang")), pod("gang-1", "a", podGroup("gang")), pod("set-0", "a", podGroup("set")), pod("set-1", "b", podGroup("set")),
			pod("long-0", "a", kept("long", "30m")), pod("long-1", "d", kept("long", "30m")), pod("web", "b", alone),
		},
		Events: []simulation.Event{{At: 5 * time.Minute, Fail: &simulation.Nodes{Names: []string{"a"}}}},
		Until:  time.Hour,
	}
	informer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, together.Indexers())
	for _, pod := range s.Pods {
		pod.Namespace = "default"
		require.NoError(t, informer.Add(pod))
	}
	var lines []string
	_, err := simulation.Play(context.Background(), s, func(w *simulation.World) (simulation.Controller, error) {
		groups := &together.Groups{Pods: informer, PodGroup: groups, Clock: w.Clock()}
		observer := evictor.Observers{w, evictor.Observe(nil, func(d evictor.PodDecision) {
			if d.Kind == tainteviction.PodEvicted {
				lines = append(lines, explain.Pod(d).String())
			}
		})}
		clients := w.Clients()
		clients.PodWriter = &leave.Writer{
			PodWriter: clients.PodWriter, Nodes: clients.Nodes, Pods: clients.Pods, Group: groups.Group, Gate: groups, Observer: observer.ObservePod, Clock: w.Clock(),
		}
		return evictor.New(w.Config(), clients, evictor.Options{Clock: w.Clock(), Gate: groups, Observer: observer})
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"00:05:45 pod default/set-0: evicted from node a: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:05:45 pod default/gang-0: evicted from node c: goes with pod default/gang-1: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:05:45 pod default/gang-1: evicted from node a: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:05:45 pod default/train-1: evicted from node b: goes with pod default/train-0: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:05:45 pod default/train-2: evicted from node c: goes with pod default/train-0: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:05:45 pod default/train-0: evicted from node a: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:35:45 pod default/long-1: evicted from node d: goes with pod default/long-0: does not tolerate node.kubernetes.io/unreachable:NoExecute",
		"00:35:45 pod default/long-0: evicted from node a: does not tolerate node.kubernetes.io/unreachable:NoExecute",
	}, lines)
}
