package nodelifecycle

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/controller/testutil"
)

// BenchmarkPass is a pass of monitorNodeHealth in which nothing fails. Half of the nodes have renewed their leases
// since the last one.
func BenchmarkPass(b *testing.B) {
	for _, n := range []int{5_000, 15_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			now := metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			nc, err := newNodeLifecycleControllerFromClient(
				context.Background(), &testutil.FakeNodeHandler{Clientset: fake.NewSimpleClientset()}, 0.1, 0.01, 50, 0.55, 50*time.Second, time.Minute, 5*time.Second,
			)
			if err != nil {
				b.Fatal(err)
			}
			nc.recorder, nc.now = testutil.NewFakeRecorder(), func() metav1.Time { return now }
			for i := range n {
				if err := nc.nodeInformer.Informer().GetStore().Add(benchNode(i, now)); err != nil {
					b.Fatal(err)
				}
			}
			pass := func(i int) (cpu time.Duration, allocations, bytes uint64) {
				now = metav1.NewTime(now.Add(5 * time.Second))
				for node := i % 2; node < n; node += 2 {
					if err := nc.leaseInformer.Informer().GetStore().Add(createNodeLease(fmt.Sprint("node-", node), metav1.NewMicroTime(now.Time))); err != nil {
						b.Fatal(err)
					}
				}
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				began := used()
				if err := nc.monitorNodeHealth(context.Background()); err != nil {
					b.Fatal(err)
				}
				cpu = used() - began
				runtime.ReadMemStats(&after)
				return cpu, after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
			}
			pass(0)
			pass(1)
			least, allocations, bytes := time.Hour, uint64(0), uint64(0)
			for i := range b.N {
				var cpu time.Duration
				cpu, allocations, bytes = pass(i)
				least = min(least, cpu)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(least.Microseconds())/1000, "CPU-ms")
			b.ReportMetric(float64(allocations), "allocations")
			b.ReportMetric(float64(bytes)/(1<<20), "MiB")
		})
	}
}

// benchNode is ready, in one of three zones. It has no images, while most real nodes have many.
func benchNode(i int, now metav1.Time) *v1.Node {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("node-", i), UID: types.UID(fmt.Sprint("uid-", i)), CreationTimestamp: now,
			Labels: map[string]string{v1.LabelTopologyZone: fmt.Sprint("zone-", i%3), v1.LabelHostname: fmt.Sprint("node-", i)},
		},
		Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "10.0.0.1"}}},
	}
	for _, kind := range []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeReady} {
		node.Status.Conditions = append(node.Status.Conditions, v1.NodeCondition{Type: kind, Status: v1.ConditionFalse, LastHeartbeatTime: now, LastTransitionTime: now})
	}
	node.Status.Conditions[3].Status = v1.ConditionTrue
	return node
}

// used returns the CPU time of this process.
func used() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
