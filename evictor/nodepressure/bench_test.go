package nodepressure_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// benchPods returns 250 pods of three containers with requests, limits, an emptyDir and a few different priorities.
func benchPods() []Pod {
	pods := make([]Pod, 250)
	for i := range pods {
		pods[i] = build(fmt.Sprintf("pod-%03d", i*7919%250), int32(i%3*1000),
			requests("cpu", "100m", "memory", fmt.Sprintf("%dMi", 64+i%5*64), "ephemeral-storage", "1Gi"),
			limits("cpu", "1", "memory", "1Gi", "ephemeral-storage", "4Gi"),
			diskUse("100Mi", "50Mi", "200Mi"), sized("1Gi", ""), memoryUse(fmt.Sprintf("%dMi", 50+i*7919%400)))
		for _, name := range []string{"proxy", "logger"} {
			c := pods[i].Spec.Containers[0]
			c.Name = name
			pods[i].Spec.Containers = append(pods[i].Spec.Containers, c)
			u := pods[i].Usage.Containers[0]
			u.Name = name
			pods[i].Usage.Containers = append(pods[i].Usage.Containers, u)
		}
	}
	return pods
}

// benchMachine returns a machine with the default configuration on a fake clock; stats are fresh samples of everything.
func benchMachine(tb testing.TB, memory int64) (*Machine, Stats) {
	tb.Helper()
	config := DefaultConfig()
	config.Clock = clocktesting.NewFakePassiveClock(epoch)
	machine, err := New(config)
	if err != nil {
		tb.Fatal(err)
	}
	stats := Stats{Pods: benchPods(), Signals: map[Signal]Sample{}}
	for _, signal := range Signals() {
		stats.Signals[signal] = Sample{Available: 1 << 40, Capacity: 1 << 41}
	}
	stats.Signals[MemoryAvailable] = Sample{Available: memory, Capacity: 1 << 41}
	return machine, stats
}

func TestNothingMetAllocatesNothing(t *testing.T) {
	machine, stats := benchMachine(t, 1<<40)
	require.Zero(t, testing.AllocsPerRun(100, func() { machine.Observe(stats) }))
	few := Stats{Pods: stats.Pods, Signals: map[Signal]Sample{MemoryAvailable: {Available: 1, Capacity: 1 << 41}}}
	require.NotEmpty(t, machine.Observe(few).Met)
	var d Decision
	require.Zero(t, testing.AllocsPerRun(100, func() { d = machine.Observe(stats) }), "the condition outlasts what called for it")
	require.Empty(t, d.Met)
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, d.Conditions)
}

// Nothing is met: the thresholds and every pod's limits of local storage are checked.
func BenchmarkObserve250PodsNothingMet(b *testing.B) {
	machine, stats := benchMachine(b, 1<<40)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if d := machine.Observe(stats); d.Action != Nothing {
			b.Fatal(d)
		}
	}
}

func BenchmarkRank250PodsByMemory(b *testing.B) { benchmarkRank(b, MemoryAvailable, ByUsage) }
func BenchmarkRank250PodsByDisk(b *testing.B)   { benchmarkRank(b, NodeFsAvailable, ByUsage) }
func BenchmarkRank250PodsByQOS(b *testing.B)    { benchmarkRank(b, MemoryAvailable, ByQOS) }

func benchmarkRank(b *testing.B, signal Signal, ranking Ranking) {
	pods := benchPods()
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if ranked := Rank(pods, signal, SingleFs, ranking); len(ranked) != len(pods) {
			b.Fatal(len(ranked))
		}
	}
}
