package simulation

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var web = map[string]string{"app": "web"}

func statefulSet(policy appsv1.PodManagementPolicyType) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr(int32(3)), PodManagementPolicy: policy, Selector: &metav1.LabelSelector{MatchLabels: web},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: web}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}},
		},
	}
}

// The node of web-0 is dead, so web-0 stays terminating. Then the node of web-2 is drained. Its set makes no web-2 before web-0
// is back, unless it makes pods in parallel.
func TestAStatefulSetMakesItsPodsInOrder(t *testing.T) {
	for _, test := range []struct {
		set     *appsv1.StatefulSet // nil: not known, so that it has the default
		recover bool
		ready   int
		held    int
		most    int
	}{
		{statefulSet(""), false, 1, 1, 1},
		{statefulSet(appsv1.OrderedReadyPodManagement), false, 1, 1, 1},
		{nil, false, 1, 1, 1},
		{statefulSet(appsv1.ParallelPodManagement), false, 2, 0, 0},
		{statefulSet(""), true, 3, 0, 1},
	} {
		s := Scenario{
			Nodes: []*v1.Node{fileNode("n0"), fileNode("n1"), fileNode("n2"), fileNode("n3")},
			Events: []Event{
				{At: time.Minute, Fail: named("n0")},
				{At: 20 * time.Minute, Drain: &Drain{Nodes: *named("n2")}},
			},
			ReplaceAfter: 10 * time.Second,
			Until:        time.Hour,
			Points:       60,
		}
		for i := range 3 {
			s.Pods = append(s.Pods, filePod(fmt.Sprint("web-", i), fmt.Sprint("n", i), "StatefulSet", "web", web))
		}
		if test.set != nil {
			s.Objects = []runtime.Object{test.set}
		}
		if test.recover {
			s.Events = append(s.Events, Event{At: 40 * time.Minute, Recover: named("n0")})
		}
		lines, r := play(t, s)
		require.Equal(t, test.ready, r.Workloads[0].ReadyAtEnd, test)
		require.Equal(t, test.held, r.HeldByOrder, test)
		require.Equal(t, test.most, r.MostHeld, test)
		require.Equal(t, test.most, slices.Max(r.Series.Held), test)
		require.Zero(t, r.PendingAtEnd, "what is not created is not Pending")
		if test.recover {
			require.Contains(t, lines, `{"t":1200.000,"kind":"held","pod":"web-2","reason":"web-0 comes first and is not Running and Ready (OrderedReady)"}`)
			require.Equal(t, []string{"2410.000 web-0", "2420.000 web-2"}, placedIn(lines))
		}
	}
}

// A pod whose object goes while controllers do not reach the API is replaced when they do, and as slowly as any other.
func TestAStatefulSetIsAsSlowAfterAnOutage(t *testing.T) {
	lines, _ := play(t, Scenario{
		Nodes: []*v1.Node{fileNode("n0"), fileNode("n1")}, Objects: []runtime.Object{statefulSet("")},
		Pods: []*v1.Pod{filePod("web-0", "n0", "StatefulSet", "web", web), filePod("web-1", "n1", "StatefulSet", "web", web), filePod("web-2", "n1", "StatefulSet", "web", web)},
		Events: []Event{
			{At: time.Minute, Fail: named("n0")},
			{At: 5 * time.Minute, API: &API{State: APIDown, For: ForEvictor}},
			{At: 10 * time.Minute, Recover: named("n0")},
			{At: 15 * time.Minute, API: &API{State: APIUp}},
		},
		ReplaceAfter: 10 * time.Second, Until: time.Hour,
	})
	require.Equal(t, []string{"910.000 web-0"}, placedIn(lines))
}

// Pods that a set lacks at time 0 are made one after the other too, and none after one that finds no node.
func TestAStatefulSetMakesTheFirstPodsInOrder(t *testing.T) {
	lines, r := play(t, Scenario{
		Nodes: []*v1.Node{fileNode("n0")}, Objects: []runtime.Object{statefulSet("")}, Until: time.Minute, ReplaceAfter: 10 * time.Second,
	})
	require.Equal(t, []string{"0.000 web-0", "10.000 web-1", "20.000 web-2"}, placedIn(lines))
	require.Equal(t, 3, r.Workloads[0].ReadyAtEnd)
	lines, r = play(t, Scenario{
		Nodes: []*v1.Node{fileNode("n0")}, Objects: []runtime.Object{statefulSet("")}, Until: time.Minute, ReplaceAfter: 10 * time.Second,
		Events: []Event{{At: 0, Cordon: named("n0")}},
	})
	require.Empty(t, placedIn(lines))
	require.Equal(t, []int{1, 2}, []int{r.PendingAtEnd, r.HeldByOrder})
}

var scheduling = regexp.MustCompile(`"t":([0-9.]+),"kind":"schedule",.*"pod":"([^"]+)"`)

// placedIn returns the times and names of the pods that were scheduled.
func placedIn(lines []string) (all []string) {
	for _, l := range lines {
		if m := scheduling.FindStringSubmatch(l); m != nil {
			all = append(all, m[1]+" "+m[2])
		}
	}
	return all
}
