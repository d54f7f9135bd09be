package simulation

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// from gives the pods of a set ordinals from that one on.
func from(start int32, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: start}
	return set
}

// webPods returns pods of the set on n0, n1, ….
func webPods(ordinals ...int) (pods []*v1.Pod) {
	for i, ordinal := range ordinals {
		pods = append(pods, filePod(fmt.Sprint("web-", ordinal), fmt.Sprint("n", i), "StatefulSet", "web", web))
	}
	return pods
}

func webOn(nodes int, set *appsv1.StatefulSet, pods ...*v1.Pod) Scenario {
	s := Scenario{Pods: pods, Objects: []runtime.Object{set}, ReplaceAfter: 10 * time.Second, Until: time.Hour}
	for i := range nodes {
		s.Nodes = append(s.Nodes, fileNode(fmt.Sprint("n", i)))
	}
	return s
}

// The pods of a set have ordinals from its first one on, and no others.
func TestOrdinalsStartWhereTheSetSays(t *testing.T) {
	lines, r := play(t, webOn(1, from(5, statefulSet(""))))
	require.Equal(t, []string{"0.000 web-5", "10.000 web-6", "20.000 web-7"}, placedIn(lines))
	require.Equal(t, []int{3, 3}, []int{r.Workloads[0].Desired, r.Workloads[0].ReadyAtEnd})

	lines, _ = play(t, webOn(2, from(5, statefulSet("")), webPods(6)...))
	require.Equal(t, []string{"0.000 web-5", "10.000 web-7"}, placedIn(lines), "what is missing, and not one more")

	_, err := Play(context.Background(), webOn(1, from(-1, statefulSet(""))))
	require.ErrorContains(t, err, "StatefulSet web: ordinals.start: -1 is negative")
}

// The first ordinal was raised: the pod below it is still there, unready. No other pod waits for it, and once it is deleted it
// does not come back.
func TestPodsBelowTheFirstOrdinalDoNotCount(t *testing.T) {
	s := webOn(5, from(1, statefulSet("")), webPods(0, 1, 2, 3)...)
	s.Pods[0].Status.Conditions[0].Status = v1.ConditionFalse
	s.Events = []Event{
		{At: time.Minute, DeletePod: &Pod{Name: "web-2"}},
		{At: 10 * time.Minute, DeletePod: &Pod{Name: "web-0"}},
		{At: 20 * time.Minute, DeletePod: &Pod{Name: "web-1"}},
	}
	lines, r := play(t, s)
	require.Equal(t, []string{"70.000 web-2", "1210.000 web-1"}, placedIn(lines))
	require.Zero(t, r.HeldByOrder)
	require.Equal(t, 2, r.ReturnedPods)
	require.Equal(t, 3, r.Workloads[0].Desired, "nobody misses web-0")
}

// The set was scaled down: a pod beyond its replicas that is deleted does not come back.
func TestPodsBeyondTheReplicasDoNotComeBack(t *testing.T) {
	s := webOn(6, from(1, statefulSet("")), webPods(1, 2, 3, 4)...)
	s.Events = []Event{{At: time.Minute, DeletePod: &Pod{Name: "web-4"}}, {At: time.Minute, DeletePod: &Pod{Name: "web-3"}}}
	lines, r := play(t, s)
	require.Equal(t, []string{"70.000 web-3"}, placedIn(lines))
	require.Equal(t, []int{3, 3}, []int{r.Workloads[0].Desired, r.Workloads[0].ReadyAtEnd})
}

// The replacement of a pod has its ordinal, not the next one, and waits for those before it.
func TestAReplacementHasTheFreeOrdinal(t *testing.T) {
	s := webOn(5, from(5, statefulSet("")), webPods(5, 6, 7)...)
	s.Events = []Event{{At: time.Minute, DeletePod: &Pod{Name: "web-6"}}, {At: time.Minute, DeletePod: &Pod{Name: "web-5"}}, {At: time.Minute, DeletePod: &Pod{Name: "web-7"}}}
	lines, r := play(t, s)
	require.Equal(t, []string{"70.000 web-5", "80.000 web-6", "90.000 web-7"}, placedIn(lines))
	require.Equal(t, []int{3, 3}, []int{r.Workloads[0].Desired, r.Workloads[0].ReadyAtEnd})
}

// A pod was deleted before time 0. It comes back under its own name, once its kubelet has ended it: at once if that is alive.
// Another pod is not made for it.
func TestADumpMayHaveATerminatingPodOfASet(t *testing.T) {
	for _, test := range []struct {
		policy appsv1.PodManagementPolicyType
		silent bool
		placed []string
		ready  int
	}{
		{appsv1.OrderedReadyPodManagement, false, []string{"10.000 web-0", "20.000 web-2"}, 3},
		{appsv1.ParallelPodManagement, false, []string{"0.000 web-2", "10.000 web-0"}, 3},
		{appsv1.OrderedReadyPodManagement, true, []string{"1810.000 web-0", "1820.000 web-2"}, 3},
		{appsv1.ParallelPodManagement, true, []string{"0.000 web-2", "1810.000 web-0"}, 3},
	} {
		s := webOn(4, statefulSet(test.policy), webPods(0, 1)...) // web-2 is missing
		s.Pods[0].DeletionTimestamp = ptr(metav1.NewTime(Epoch))
		if test.silent {
			s.Nodes[0].Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}
			s.Events = []Event{{At: 30 * time.Minute, Recover: named("n0")}}
		}
		lines, r := play(t, s)
		require.Equal(t, test.placed, placedIn(lines), test)
		require.Equal(t, []int{3, test.ready}, []int{r.Workloads[0].Desired, r.Workloads[0].ReadyAtEnd}, test)
		require.Zero(t, r.TerminatingAtEnd)
		require.Equal(t, 1, r.ReturnedPods, test)
	}
}

// A pod that has ended does not keep its ordinal.
func TestAPodThatHasEndedGivesItsOrdinal(t *testing.T) {
	s := webOn(4, statefulSet(""), webPods(0, 1, 2)...)
	s.Pods[1].Status.Phase = v1.PodFailed
	lines, r := play(t, s)
	require.Equal(t, []string{"0.000 web-1"}, placedIn(lines))
	require.Equal(t, []int{3, 3}, []int{r.Workloads[0].Desired, r.Workloads[0].ReadyAtEnd})
}
