package tainteviction

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

// BenchmarkOutage taints 1,000 nodes with 100 pods each, which tolerate that for five minutes, and lifts the taints
// again: the memory of 100,000 waiting evictions, and the cost of scheduling and cancelling them.
func BenchmarkOutage(b *testing.B) {
	const nodes, podsOfNode = 1_000, 100
	ctx := context.Background()
	tc, _, nodeIndexer := setupNewController(ctx, fake.NewSimpleClientset())
	tc.recorder = nil
	fiveMinutes, pods := int64(300), map[string][]*corev1.Pod{}
	for n := range nodes {
		name := fmt.Sprint("node-", n)
		for p := range podsOfNode {
			pods[name] = append(pods[name], &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("pod-%d-%d", n, p), UID: types.UID(fmt.Sprintf("uid-%d-%d", n, p))},
				Spec: corev1.PodSpec{NodeName: name, Tolerations: []corev1.Toleration{{
					Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &fiveMinutes,
				}}},
			})
		}
	}
	tc.getPodsAssignedToNode = func(name string) ([]*corev1.Pod, error) { return pods[name], nil }
	all := func(taints ...corev1.Taint) (cpu time.Duration, before, after runtime.MemStats) {
		for n := range nodes {
			if err := nodeIndexer.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", n)}, Spec: corev1.NodeSpec{Taints: taints}}); err != nil {
				b.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := used()
		for n := range nodes {
			tc.handleNodeUpdate(ctx, nodeUpdateItem{fmt.Sprint("node-", n)})
		}
		cpu = used() - began
		runtime.ReadMemStats(&after)
		return cpu, before, after
	}
	per := func(n uint64) float64 { return float64(n) / (nodes * podsOfNode) }
	least, held, allocations := time.Hour, 0., 0.
	for range b.N {
		scheduling, before, after := all(corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
		allocations = per(after.Mallocs - before.Mallocs)
		idle := before.HeapAlloc
		runtime.GC()
		runtime.ReadMemStats(&after)
		held = per(after.HeapAlloc - idle)
		cancelling, _, _ := all()
		least = min(least, scheduling+cancelling)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(per(uint64(least.Nanoseconds())), "CPU-ns/pod")
	b.ReportMetric(held, "B/pod")
	b.ReportMetric(allocations, "allocations/pod")
	runtime.KeepAlive(pods)
	runtime.KeepAlive(tc)
}

// used returns the CPU time of this process.
func used() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
