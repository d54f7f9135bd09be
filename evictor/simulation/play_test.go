package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// line is a line of the timeline.
type line struct {
	T                            float64
	Kind, Node, Pod, Text, By    string
	Key, Effect, Op, Type, State string
	Nodes                        []string
}

// play plays, and returns the report and the timeline.
func play(t *testing.T, s simulation.Scenario, controllers ...simulation.Start) (*simulation.Report, []line) {
	t.Helper()
	var text bytes.Buffer
	s.Timeline = timeline.To(&text)
	report, err := simulation.Play(context.Background(), s, controllers...)
	require.NoError(t, err)
	return report, parse(t, text.Bytes())
}

func parse(t *testing.T, text []byte) (lines []line) {
	t.Helper()
	for _, one := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var l line
		require.NoError(t, json.Unmarshal(one, &l))
		lines = append(lines, l)
	}
	return lines
}

// of returns the lines of a kind, as time, node and pod.
func of(lines []line, kind string) (texts []string) {
	for _, l := range lines {
		if l.Kind == kind {
			texts = append(texts, fmt.Sprintf("%v %s %s", time.Duration(l.T*float64(time.Second)), l.Node, l.Pod))
		}
	}
	return texts
}

func node(name, zone string, allocatable v1.ResourceList) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone, "pool": "p-" + zone}},
		Status:     v1.NodeStatus{Allocatable: allocatable},
	}
}

func pod(name, node, kind, owner string) *v1.Pod {
	isTrue, seconds := true, int64(300)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": owner}}, Spec: v1.PodSpec{NodeName: node}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: &isTrue}}
	}
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
	}
	return p
}

func deployment(name string, replicas int32, cpu string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: template(name, cpu)}}
}

func template(app, cpu string) v1.PodTemplateSpec {
	return v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}},
	}
}

func budgetOf(app string, minAvailable int) *policyv1.PodDisruptionBudget {
	least := intstr.FromInt(minAvailable)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}

func cpus(n string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(n)} }

// failing returns a scenario in which one of three nodes falls silent after a minute.
func failing() simulation.Scenario {
	return simulation.Scenario{
		Nodes:  []*v1.Node{node("a", "z", nil), node("b", "z", nil), node("c", "z", nil)},
		Pods:   []*v1.Pod{pod("web-0", "a", "ReplicaSet", "web"), pod("web-1", "b", "ReplicaSet", "web"), pod("db-0", "a", "StatefulSet", "db")},
		Events: []simulation.Event{{At: time.Minute, Fail: &simulation.Nodes{Names: []string{"a"}}}},
		Until:  20 * time.Minute,
	}
}

func TestObjectsArePlayed(t *testing.T) {
	s := failing()
	s.Objects = []runtime.Object{budgetOf("web", 2)}
	before := []runtime.Object{s.Nodes[0].DeepCopy(), s.Pods[0].DeepCopy(), s.Objects[0].DeepCopyObject()}
	r, lines := play(t, s)
	require.Equal(t, []string{"6m45s a db-0", "6m45s a web-0"}, of(lines, "evict"))
	require.Equal(t, []string{"6m55s c web-0-r1"}, of(lines, "schedule"), "the StatefulSet waits for the kubelet")
	require.Equal(t, 3, r.Nodes)
	require.Equal(t, 3, r.Pods)
	require.Equal(t, 2, r.Evicted)
	require.Equal(t, 6*time.Minute+45*time.Second, r.FirstEviction)
	require.Equal(t, 2, r.TerminatingAtEnd)
	require.Equal(t, []simulation.WorkloadReport{
		{
			NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}, Kind: "ReplicaSet",
			Level: simulation.Level{
				Desired: 2, LowestReady: 1, LowestReadyShare: 0.5, ReadyAtEnd: 2,
				Lows: simulation.Lows{LowestAt: time.Minute, Below: 5*time.Minute + 55*time.Second}, PodHoursMissing: (5*time.Minute + 55*time.Second).Hours(),
			},
			Budgets: 1, BelowBudget: 5*time.Minute + 55*time.Second,
			Unserved: simulation.Unserved{PodsWithoutEndpoints: 1, MostEndpointsGone: 1, LongestWithoutEndpoints: 5 * time.Minute},
		},
		{
			NamespacedName: types.NamespacedName{Namespace: "default", Name: "db"}, Kind: "StatefulSet",
			Level: simulation.Level{
				Desired: 1,
				Lows:    simulation.Lows{LowestAt: time.Minute, Below: 19 * time.Minute, BelowHalf: 19 * time.Minute}, LongestBelowHalf: 19 * time.Minute, PodHoursMissing: (19 * time.Minute).Hours(),
			},
			Unserved: simulation.Unserved{PodsWithoutEndpoints: 1, MostEndpointsGone: 1, LongestWithoutEndpoints: 5 * time.Minute},
		},
	}, []simulation.WorkloadReport{r.Workloads[0], r.Workloads[1]})
	require.Equal(t, []simulation.BudgetReport{{
		NamespacedName: types.NamespacedName{Namespace: "default", Name: "web"}, Desired: 2, Needed: 2, LowestReady: 1,
		Below: 5*time.Minute + 55*time.Second, LongestBelow: 5*time.Minute + 55*time.Second, MostBelow: 1,
	}}, r.Budgets)
	require.Nil(t, r.NotSimulated)
	require.Equal(t, before, []runtime.Object{s.Nodes[0], s.Pods[0], s.Objects[0]}, "no object has changed")
}

func TestPodsWithoutANodeAreScheduled(t *testing.T) {
	s := simulation.Scenario{
		Nodes: []*v1.Node{node("a", "z", cpus("2")), node("b", "z", cpus("2"))},
		Pods:  []*v1.Pod{pod("here", "a", "", ""), pod("nowhere", "gone", "", ""), pod("new", "", "ReplicaSet", "new")},
		Until: time.Minute,
		Objects: []runtime.Object{
			deployment("web", 5, "800m"),
			&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "data"}, Spec: appsv1.StatefulSetSpec{Template: template("db", "100m")}},
		},
	}
	r, lines := play(t, s)
	require.Equal(t, []string{"0s a data/db-0", "0s a web-sim-0", "0s a web-sim-2", "0s b new", "0s b web-sim-1", "0s b web-sim-3"}, of(lines, "schedule"))
	require.Equal(t, 1, r.PendingAtEnd, "the fifth has no room")
	require.Equal(t, 8, r.Pods)
	require.Equal(t, map[string]int{"pods on nodes that do not exist": 1}, r.NotSimulated)
	require.Zero(t, r.ReturnedPods)
	require.InDelta(t, (1 * time.Minute).Hours(), r.PodHoursLost, 1e-9, "of the fifth")
	require.Equal(t, []string{"data/StatefulSet/db 1 1", "default/Deployment/web 5 4", "default/ReplicaSet/new 1 1"}, workloads(r))

	s.ReplaceAfter = -1
	r, lines = play(t, s)
	require.Empty(t, of(lines, "schedule"))
	require.Equal(t, map[string]int{"pods on nodes that do not exist": 1, "pods without a node": 7}, r.NotSimulated)
	require.Zero(t, r.PendingAtEnd)
}

func workloads(r *simulation.Report) (texts []string) {
	for _, w := range r.Workloads {
		texts = append(texts, fmt.Sprintf("%s/%s/%s %d %d", w.Namespace, w.Kind, w.Name, w.Desired, w.ReadyAtEnd))
	}
	return texts
}

// A dump has both a workload and its pods: only the missing pods are made.
func TestWorkloadsMakeThePodsThatLack(t *testing.T) {
	web := pod("web-5f-x", "a", "ReplicaSet", "web-5f")
	web.Labels["pod-template-hash"] = "5f"
	done := pod("calc-0", "a", "Job", "calc")
	done.Status.Phase = v1.PodSucceeded
	two := int32(2)
	s := simulation.Scenario{
		Nodes: []*v1.Node{node("a", "z", nil)},
		Pods:  []*v1.Pod{web, pod("db-1", "a", "StatefulSet", "db"), done},
		Objects: []runtime.Object{
			deployment("web", 2, "1"),
			&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: &two, Template: template("db", "1")}},
			&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "rs"}, Spec: appsv1.ReplicaSetSpec{Replicas: &two, Template: template("rs", "1")}},
			&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "calc"}, Spec: batchv1.JobSpec{Template: template("calc", "1")}},
		},
		Until: time.Minute,
	}
	r, lines := play(t, s)
	require.Equal(t, []string{"0s a calc-1", "0s a db-0", "0s a rs-0", "0s a rs-1", "0s a web-sim-0"}, of(lines, "schedule"))
	require.Equal(t, []string{"default/Deployment/web 2 2", "default/Job/calc 1 1", "default/ReplicaSet/rs 2 2", "default/StatefulSet/db 2 2"}, workloads(r))
}

// Budgets refuse evictions only if AskBudgets is set.
func TestBudgetsAreAsked(t *testing.T) {
	for _, asks := range []bool{false, true} {
		s := failing()
		s.Objects, s.AskBudgets = []runtime.Object{budgetOf("web", 2)}, asks
		s.Events = []simulation.Event{{At: time.Minute, Taint: &simulation.Taint{Nodes: simulation.Nodes{Names: []string{"a"}}, NodeTaint: simulation.NodeTaint{Key: "mine", Effect: v1.TaintEffectNoExecute}}}}
		_, lines := play(t, s)
		if asks {
			require.Equal(t, []string{"1m0s a db-0"}, of(lines, "evict"))
		} else {
			require.Equal(t, []string{"1m0s a db-0", "1m0s a web-0"}, of(lines, "evict"))
		}
	}
}

func TestTracesDriveZones(t *testing.T) {
	s := simulation.Scenario{
		Zones:  []simulation.Zone{{Name: "a", Region: "r", Nodes: 4, PodsPerNode: 1, DaemonSetPodsPerNode: 1}, {Name: "b", Nodes: 4}},
		Traces: []simulation.Trace{{Zone: "r:a", Gap: time.Minute, Alive: []int{4, 1, 4}, Scale: 1}},
		Until:  10 * time.Minute,
	}
	r, _ := play(t, s)
	require.Equal(t, 3, r.KubeletFailures)
	require.Equal(t, 1, r.Zones[1].LowestNodes)
	require.Equal(t, "r:a", r.Zones[1].Name)
	require.Equal(t, 4, r.Pods)
	require.Equal(t, 4, r.DaemonSetPods)
}

// The same scenario gives the same timeline, also when several play at once over the same objects.
func TestPlaysAreAlike(t *testing.T) {
	s := failing()
	s.Objects = []runtime.Object{deployment("api", 6, "1")}
	texts := make(chan string)
	for range 4 {
		go func() {
			mine := s
			var text bytes.Buffer
			mine.Timeline = timeline.To(&text)
			if _, err := simulation.Play(context.Background(), mine); err != nil {
				text.Reset()
			}
			texts <- text.String()
		}()
	}
	first := <-texts
	require.NotEmpty(t, first)
	for range 3 {
		require.Equal(t, first, <-texts)
	}
}

func TestPlayEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := simulation.Play(ctx, failing(), func(*simulation.World) (simulation.Controller, error) {
		return simulation.StepFunc(func(context.Context) (time.Time, error) {
			cancel()
			return time.Time{}, nil
		}), nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left") }

func TestATimelineThatCannotBeWrittenIsAnError(t *testing.T) {
	s := failing()
	s.Timeline = timeline.To(full{})
	_, err := simulation.Play(context.Background(), s)
	require.EqualError(t, err, "simulation: timeline: no space left")
}
