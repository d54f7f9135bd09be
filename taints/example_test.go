package taints_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/taints"
)

// A custom scheduler's filter: may this pod go there, and would it stay?
func Example() {
	fiveMinutes := int64(300)
	pod := v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{
		{Key: "example.com/batch", Operator: v1.TolerationOpExists},
		{Key: "node.kubernetes.io/unreachable", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &fiveMinutes},
	}}}
	filter := func(node *v1.Node) error {
		if taint, ok := taints.Untolerated(node.Spec.Taints, pod.Spec.Tolerations, false); ok {
			return fmt.Errorf("node %s: taint %s is not tolerated", node.Name, taint.ToString())
		}
		return nil
	}
	for _, node := range []v1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "idle"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: "example.com/batch", Value: "yes", Effect: v1.TaintEffectNoSchedule}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "silent"}, Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: "node.kubernetes.io/unreachable", Effect: v1.TaintEffectNoExecute}}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "full"}, Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: "node.kubernetes.io/disk-pressure", Effect: v1.TaintEffectNoSchedule}}}},
	} {
		if err := filter(&node); err != nil {
			fmt.Println(err)
			continue
		}
		stay := taints.Tolerate(node.Spec.Taints, pod.Spec.Tolerations, false)
		switch {
		case stay.Forever:
			fmt.Printf("node %s: it would stay\n", node.Name)
		case stay.For > 0:
			fmt.Printf("node %s: it would be evicted after %v, because of %s under toleration %d\n", node.Name, stay.For, stay.Taint.ToString(), stay.Toleration)
		default:
			fmt.Printf("node %s: it would be evicted at once\n", node.Name)
		}
	}
	// Output:
	// node idle: it would stay
	// node batch: it would stay
	// node silent: it would be evicted after 5m0s, because of node.kubernetes.io/unreachable:NoExecute under toleration 1
	// node full: taint node.kubernetes.io/disk-pressure:NoSchedule is not tolerated
}

// A node goes from not ready to unreachable. That is one write, and the pods' remaining time does not change.
func ExampleDiff() {
	began := metav1.NewTime(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	node := v1.Node{
		ObjectMeta: metav1.ObjectMeta{UID: "7f3a", ResourceVersion: "42"},
		Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: "example.com/batch", Effect: v1.TaintEffectNoSchedule},
			{Key: "node.kubernetes.io/not-ready", Effect: v1.TaintEffectNoExecute, TimeAdded: &began},
		}},
	}
	var want []v1.Taint
	if taint, ok := taints.ForReady(v1.ConditionUnknown); ok {
		want = append(want, taint)
	}
	change := taints.Diff(node.Spec.Taints, want, taints.OwnNoExecute)
	body, err := change.Patch(node.Spec.Taints, node.UID, node.ResourceVersion, began.Add(time.Minute))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(body))
	// Output:
	// {"metadata":{"uid":"7f3a","resourceVersion":"42"},"spec":{"taints":[{"key":"example.com/batch","effect":"NoSchedule"},{"key":"node.kubernetes.io/unreachable","effect":"NoExecute","timeAdded":"2026-03-04T12:00:00Z"}]}}
}

// After a restart: the node carries two taints that began at different times, and the pod was bound between them.
func ExampleDeadlineOf() {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) *metav1.Time {
		return &metav1.Time{Time: noon.Add(time.Duration(minutes) * time.Minute)}
	}
	node := v1.Node{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *at(-60)},
		Spec: v1.NodeSpec{Taints: []v1.Taint{
			{Key: "example.com/maintenance", Effect: v1.TaintEffectNoExecute, TimeAdded: at(0)},
			{Key: "node.kubernetes.io/unreachable", Effect: v1.TaintEffectNoExecute, TimeAdded: at(12)},
		}},
	}
	var begun []taints.Begun
	for _, taint := range node.Spec.Taints {
		begun = append(begun, taints.Begun{Taint: taint, Start: taints.PlausibleStart(&taint, node.CreationTimestamp.Time, at(15).Time)})
	}
	tenMinutes, fiveMinutes := int64(600), int64(300)
	tolerations := []v1.Toleration{
		{Key: "example.com/maintenance", Operator: v1.TolerationOpExists, TolerationSeconds: &tenMinutes},
		{Key: "node.kubernetes.io/unreachable", Operator: v1.TolerationOpExists, TolerationSeconds: &fiveMinutes},
	}
	bound := at(8).Time
	show := func(d taints.Deadline) {
		fmt.Println(d.At.Format("15:04"), d.Taint.Key, "toleration", d.Toleration, "of", d.For)
	}
	show(taints.DeadlineOf(begun, bound, tolerations, nil, false))
	foreign := func(t *v1.Taint) bool { return !taints.OwnNoExecute(t) }
	show(taints.DeadlineOf(begun, bound, tolerations, foreign, false)) // for example after the node has reported Ready
	// Output:
	// 12:17 node.kubernetes.io/unreachable toleration 1 of 5m0s
	// 12:18 example.com/maintenance toleration 0 of 10m0s
}

// The NoSchedule taints follow from the conditions and the cordon. Taints of others stay.
func ExampleForConditions() {
	have := []v1.Taint{
		{Key: "example.com/batch", Effect: v1.TaintEffectNoSchedule},
		{Key: "node.kubernetes.io/memory-pressure", Effect: v1.TaintEffectNoSchedule},
	}
	want := taints.ForConditions([]v1.NodeCondition{
		{Type: v1.NodeReady, Status: v1.ConditionTrue},
		{Type: v1.NodeDiskPressure, Status: v1.ConditionTrue},
	}, true)
	change := taints.Diff(have, want, taints.OwnNoSchedule)
	for _, taint := range change.Apply(have, time.Time{}) {
		fmt.Println(taint.ToString())
	}
	// Output:
	// example.com/batch:NoSchedule
	// node.kubernetes.io/disk-pressure:NoSchedule
	// node.kubernetes.io/unschedulable:NoSchedule
}

// The numeric operators count only if the last argument says so, as in Kubernetes.
func ExampleTolerates() {
	taint := v1.Taint{Key: "example.com/failure-rate", Value: "7", Effect: v1.TaintEffectNoExecute}
	toleration := v1.Toleration{Key: taint.Key, Operator: "Lt", Value: "10"}
	fmt.Println(taints.Tolerates(&toleration, &taint, false))
	fmt.Println(taints.Tolerates(&toleration, &taint, true))
	// Output:
	// false
	// true
}

// The shortest of the tolerations that count decides how long a pod stays. A taint without one ends the stay at once. Of
// two that match, the first counts, even if the other would last longer.
func ExampleTolerate() {
	minute, hour := int64(60), int64(3600)
	tolerations := []v1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: v1.TolerationOpExists, TolerationSeconds: &minute},
		{Key: "node.kubernetes.io/not-ready", Operator: v1.TolerationOpExists},
		{Key: "example.com/maintenance", Operator: v1.TolerationOpExists, TolerationSeconds: &hour},
		{Key: "example.com/batch", Operator: v1.TolerationOpExists},
	}
	for _, keys := range [][]string{{"example.com/batch"}, {"example.com/maintenance", "node.kubernetes.io/not-ready"}, {"example.com/batch", "example.com/gpu"}} {
		var on []v1.Taint
		for _, key := range keys {
			on = append(on, v1.Taint{Key: key, Effect: v1.TaintEffectNoExecute})
		}
		stay := taints.Tolerate(on, tolerations, false)
		fmt.Println(keys, stay.For, stay.Forever)
	}
	// Output:
	// [example.com/batch] 0s true
	// [example.com/maintenance node.kubernetes.io/not-ready] 1m0s false
	// [example.com/batch example.com/gpu] 0s false
}

func ExamplePreferNoSchedule() {
	busy := []v1.Taint{
		{Key: "example.com/noisy", Effect: v1.TaintEffectPreferNoSchedule},
		{Key: "example.com/old", Effect: v1.TaintEffectPreferNoSchedule},
		{Key: "example.com/gpu", Effect: v1.TaintEffectNoSchedule}, // not counted: Untolerated finds it
	}
	fmt.Println(taints.PreferNoSchedule(busy, nil, false))
	fmt.Println(taints.PreferNoSchedule(busy, []v1.Toleration{{Key: "example.com/old", Operator: v1.TolerationOpExists}}, false))
	// Output:
	// 2
	// 1
}
