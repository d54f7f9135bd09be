package nodepressure_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// shortOf returns a sample in which nothing is left of these signals.
func shortOf(pods []Pod, signals ...Signal) Stats {
	stats := Stats{Pods: pods, Signals: map[Signal]Sample{}}
	for _, signal := range signals {
		stats.Signals[signal] = Sample{Capacity: 1 << 40}
	}
	return stats
}

// TestFirstOfTheDueThresholds: hard before soft, memory first, then the order of the signals, whatever the
// order of the configuration.
func TestFirstOfTheDueThresholds(t *testing.T) {
	signals := []Signal{MemoryAvailable, AllocatableMemoryAvailable, NodeFsAvailable, NodeFsInodesFree, ImageFsAvailable, ImageFsInodesFree, PIDAvailable}
	var config []Threshold
	var want []string
	for _, signal := range signals {
		config = append([]Threshold{hardly(signal, "1k")}, config...)
		want = append(want, hardly(signal, "1k").String())
		if signal == ImageFsInodesFree {
			want = append(want, hardly(ContainerFsAvailable, "1k").String(), hardly(ContainerFsInodesFree, "1k").String())
		}
	}
	for _, signal := range signals[:2] {
		config = append([]Threshold{softly(signal, "2k", time.Second)}, config...)
		want = append(want, softly(signal, "2k", time.Second).String())
	}
	pods := []Pod{build("pod", mid)}
	n := newNode(t, thresholds(config...), pods...)
	n.machine.Observe(shortOf(pods, Signals()...))
	n.after(time.Second)
	all := n.machine.Observe(shortOf(pods, Signals()...))
	require.Len(t, all.Met, len(want))
	for i, text := range want {
		require.Equal(t, text, all.Met[i].Threshold.String())
	}
	require.Equal(t, want[0], all.Threshold.String())

	// Each signal is the first if those before it are missing.
	for i, signal := range signals {
		n := newNode(t, thresholds(config...), pods...)
		require.Equal(t, signal, n.machine.Observe(shortOf(pods, signals[i:]...)).Threshold.Signal)
	}
	// A soft threshold, however long due, waits for any hard one.
	n = newNode(t, thresholds(softly(MemoryAvailable, "1Gi", time.Minute), hardly(PIDAvailable, "100")), pods...)
	n.machine.Observe(shortOf(pods, MemoryAvailable))
	n.after(time.Hour)
	require.Equal(t, PIDAvailable, n.machine.Observe(shortOf(pods, MemoryAvailable, PIDAvailable)).Threshold.Signal)
	// If its sample is stale, the next threshold is acted on.
	n = newNode(t, thresholds(hardly(MemoryAvailable, "1Gi"), hardly(PIDAvailable, "100")), pods...)
	stale := shortOf(pods, MemoryAvailable, PIDAvailable)
	stale.Signals[MemoryAvailable] = Sample{Time: epoch}
	require.Equal(t, MemoryAvailable, n.machine.Observe(stale).Threshold.Signal)
	require.Equal(t, PIDAvailable, n.machine.Observe(stale).Threshold.Signal)
}

// TestNodeReclaim: what is reclaimed before a pod is evicted, by layout and signal.
func TestNodeReclaim(t *testing.T) {
	both, containers, images := []Reclaim{DeadContainers, UnusedImages}, []Reclaim{DeadContainers}, []Reclaim{UnusedImages}
	for _, tc := range []struct {
		name                   string
		layout                 Layout
		node, image, container []Reclaim
	}{
		{"SingleFs", SingleFs, both, both, both},
		{"DedicatedImageFs", DedicatedImageFs, nil, both, both},
		{"SplitImageFs", SplitImageFs, containers, images, containers},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for signal, want := range map[Signal][]Reclaim{
				MemoryAvailable: nil, AllocatableMemoryAvailable: nil, PIDAvailable: nil,
				NodeFsAvailable: tc.node, NodeFsInodesFree: tc.node, ImageFsAvailable: tc.image, ImageFsInodesFree: tc.image,
				ContainerFsAvailable: tc.container, ContainerFsInodesFree: tc.container,
			} {
				config := thresholds(hardly(MemoryAvailable, "1k"), hardly(AllocatableMemoryAvailable, "1k"), hardly(PIDAvailable, "1k"),
					hardly(NodeFsAvailable, "1k"), hardly(NodeFsInodesFree, "1k"), hardly(ImageFsAvailable, "1k"), hardly(ImageFsInodesFree, "1k"))
				config.Layout = tc.layout
				d := newNode(t, config).machine.Observe(shortOf([]Pod{build("pod", mid)}, signal))
				require.Equal(t, signal, d.Threshold.Signal)
				require.Equal(t, want, d.Reclaim, signal)
				require.Equal(t, want != nil, d.Action == ReclaimNode)
				require.Equal(t, []string{"pod"}, evicted(d.Evictions), "who goes if that is not enough")
			}
		})
	}
}

func TestAfterReclaim(t *testing.T) {
	config := thresholds(reclaiming(hardly(NodeFsAvailable, "1Gi"), "1Gi"), hardly(MemoryAvailable, "1Gi"))
	for _, tc := range []struct {
		name  string
		after Stats
		want  Action
	}{
		{"Enough", sample(NodeFsAvailable, "2Gi"), Nothing},
		{"NotTheMinimum", sample(NodeFsAvailable, "2047Mi"), EvictPods},
		{"AnotherThresholdIsMet", Stats{Signals: map[Signal]Sample{NodeFsAvailable: {Available: 1 << 40}, MemoryAvailable: {}}}, EvictPods},
		{"OtherSignalsOnly", sample(PIDAvailable, "1"), Nothing},
		{"NoSample", Stats{}, EvictPods},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNode(t, config, build("pod", mid))
			d := n.observe(NodeFsAvailable, "0")
			require.Equal(t, ReclaimNode, d.Action)
			got := n.machine.AfterReclaim(d, tc.after)
			require.Equal(t, tc.want, got.Action)
			require.Empty(t, got.Reclaim)
			require.Equal(t, tc.want == EvictPods, len(got.Evictions) == 1)
			require.Equal(t, ReclaimNode, d.Action, "the decision before stays what it was")
			require.Equal(t, "Attempting to reclaim ephemeral-storage", got.Event())
		})
	}
	n := newNode(t, config)
	require.Equal(t, Stuck, n.machine.AfterReclaim(n.observe(NodeFsAvailable, "0"), Stats{}).Action)
	d := n.observe(MemoryAvailable, "0")
	require.Equal(t, d, n.machine.AfterReclaim(d, sample(MemoryAvailable, "2Gi")), "there was nothing to reclaim")
}

// TestNegativeCapacity: two shares of a negative capacity do not overflow into a large amount.
func TestNegativeCapacity(t *testing.T) {
	n := newNode(t, thresholds(Threshold{Signal: NodeFsAvailable, Value: Value{Percentage: 0.9}, MinReclaim: Value{Percentage: 0.0999}}), build("pod", mid))
	d := n.observe(NodeFsAvailable, "0")
	require.Equal(t, ReclaimNode, d.Action)
	after := Stats{Signals: map[Signal]Sample{NodeFsAvailable: {Capacity: math.MinInt64}}}
	require.Equal(t, Nothing, n.machine.AfterReclaim(d, after).Action)
}

// TestProtectedPodsNeverGo: they are passed over, and if no other pod is there the node is stuck.
func TestProtectedPodsNeverGo(t *testing.T) {
	protected := []Pod{
		build("critical", 2_000_000_000, memoryUse("9Gi")),
		build("mirror", low, annotated(v1.MirrorPodAnnotationKey, "hash"), memoryUse("9Gi")),
		build("static", low, annotated(configSource, "file"), memoryUse("9Gi")),
	}
	n := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")), append(protected, build("ordinary", high, memoryUse("1")))...)
	d := n.observe(MemoryAvailable, "0")
	require.Equal(t, []string{"mirror", "static", "ordinary", "critical"}, names(d.Ranked))
	require.Equal(t, []string{"ordinary"}, evicted(d.Evictions))

	n.pods = protected
	d = n.observe(MemoryAvailable, "0")
	require.Equal(t, Stuck, d.Action)
	require.Empty(t, d.Evictions)
	require.Len(t, d.Ranked, 3)
	n.pods = nil
	require.Equal(t, Stuck, n.observe(MemoryAvailable, "0").Action)
}

func TestEvents(t *testing.T) {
	n := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi"), hardly(NodeFsAvailable, "1Gi"), hardly(NodeFsInodesFree, "1k"), hardly(PIDAvailable, "1k")))
	for signal, want := range map[Signal]string{
		MemoryAvailable: "Attempting to reclaim memory", NodeFsAvailable: "Attempting to reclaim ephemeral-storage",
		NodeFsInodesFree: "Attempting to reclaim inodes", PIDAvailable: "Attempting to reclaim pids",
	} {
		d := n.observe(signal, "0")
		require.Equal(t, want, d.Event())
	}
	d := n.observe(MemoryAvailable, "2Gi")
	require.Empty(t, d.Event())
}

// TestSeries plays single signals through upstream's stories: TestMemoryPressure, TestDiskPressureNodeFs,
// TestInodePressureFsInodes, TestPIDPressure and TestAllocatableMemoryPressure.
func TestSeries(t *testing.T) {
	memoryPods := []Pod{
		build("guaranteed-low-priority-high-usage", low, guaranteed("1Gi"), memoryUse("900Mi")),
		build("burstable-below-requests", mid, requests("memory", "100Mi"), memoryUse("50Mi")),
		build("burstable-above-requests", mid, requests("memory", "100Mi"), memoryUse("400Mi")),
		build("best-effort-high-priority-high-usage", high, memoryUse("400Mi")),
		build("best-effort-low-priority-low-usage", low, memoryUse("100Mi")),
	}
	diskPods := []Pod{
		build("low-priority-high-usage", low, rootfsOnly("900Mi")),
		build("below-requests", mid, storage("100Mi"), diskUse("0", "50Mi", "0")),
		build("above-requests", mid, storage("100Mi"), rootfsOnly("400Mi")),
		build("high-priority-high-usage", high, diskUse("0", "0", "400Mi")),
		build("low-priority-low-usage", low, rootfsOnly("100Mi")),
	}
	inodePods := []Pod{
		build("low-priority-high-usage", low, inodeUse(900_000, 0, 0)),
		build("below-requests", mid, inodeUse(0, 50_000, 0)),
		build("high-priority-high-usage", high, inodeUse(0, 0, 400_000)),
		build("low-priority-low-usage", low, inodeUse(100_000, 0, 0)),
	}
	processPods := []Pod{
		build("low-priority-high-usage", low, processes(20)), build("default-priority-high-usage", mid, processes(20)), build("low-priority-low-usage", low, processes(6)),
	}
	for _, tc := range []struct {
		name                      string
		hard, soft                Threshold
		enough, shortSoft, shorts string
		layout                    Layout
		pods                      []Pod
		goes                      string
		admits                    []bool // a BestEffort pod, a Burstable pod
	}{
		{"MemoryPressure", hardly(MemoryAvailable, "1Gi"), softly(MemoryAvailable, "2Gi", 2*time.Minute), "3Gi", "1500Mi", "500Mi", SingleFs, memoryPods, "best-effort-low-priority-low-usage", []bool{false, true}},
		{"AllocatableMemoryPressure", hardly(AllocatableMemoryAvailable, "1Gi"), softly(AllocatableMemoryAvailable, "2Gi", 2*time.Minute), "3Gi", "1500Mi", "500Mi", SingleFs, memoryPods, "best-effort-low-priority-low-usage", []bool{false, true}},
		{"NodeFs", hardly(NodeFsAvailable, "1Gi"), softly(NodeFsAvailable, "2Gi", 2*time.Minute), "16Gi", "1500Mi", "750Mi", SingleFs, diskPods, "low-priority-high-usage", []bool{false, false}},
		{"ImageFs", hardly(ImageFsAvailable, "1Gi"), softly(ImageFsAvailable, "2Gi", 2*time.Minute), "16Gi", "1500Mi", "750Mi", DedicatedImageFs, diskPods, "low-priority-high-usage", []bool{false, false}},
		{"NodeFsBesideImageFs", hardly(NodeFsAvailable, "1Gi"), softly(NodeFsAvailable, "2Gi", 2*time.Minute), "16Gi", "1500Mi", "750Mi", DedicatedImageFs, diskPods, "high-priority-high-usage", []bool{false, false}},
		{"ContainerFs", hardly(NodeFsAvailable, "1Gi"), softly(NodeFsAvailable, "2Gi", 2*time.Minute), "16Gi", "1500Mi", "750Mi", SplitImageFs, diskPods, "low-priority-high-usage", []bool{false, false}},
		{"NodeFsInodes", hardly(NodeFsInodesFree, "1Mi"), softly(NodeFsInodesFree, "2Mi", 2*time.Minute), "3Mi", "1500Ki", "500Ki", SingleFs, inodePods, "low-priority-high-usage", []bool{false, false}},
		{"ImageFsInodes", hardly(ImageFsInodesFree, "1Mi"), softly(ImageFsInodesFree, "2Mi", 2*time.Minute), "3Mi", "1500Ki", "500Ki", DedicatedImageFs, inodePods, "low-priority-high-usage", []bool{false, false}},
		{"ProcessIDs", hardly(PIDAvailable, "1200"), softly(PIDAvailable, "1500", 2*time.Minute), "2500", "1300", "1100", SingleFs, processPods, "low-priority-high-usage", []bool{false, false}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := thresholds(tc.hard, tc.soft)
			config.Layout = tc.layout
			n := newNode(t, config, tc.pods...)
			signal := tc.hard.Signal
			pods := []Pod{build("best-effort", mid), build("burstable", mid, requests("memory", "100Mi"))}
			admits := func(under []bool) {
				t.Helper()
				for i, want := range under {
					require.Equal(t, want, n.machine.Admit(pods[i].Pod).Admitted)
				}
			}
			// goes requires an eviction, after reclaiming was not enough.
			goes := func(available string, hard bool) {
				t.Helper()
				d := n.observe(signal, available)
				if signal.Condition() == v1.NodeDiskPressure && len(d.Reclaim) > 0 {
					require.Equal(t, ReclaimNode, d.Action)
				}
				d = n.machine.AfterReclaim(d, sample(signal, available))
				require.Equal(t, EvictPods, d.Action)
				require.Equal(t, []string{tc.goes}, evicted(d.Evictions))
				require.Equal(t, hard, d.Evictions[0].Hard)
				require.Equal(t, map[bool]int64{true: 1, false: 5}[hard], d.Evictions[0].GracePeriodSeconds)
			}
			nothing := func(available string, pressure bool) {
				t.Helper()
				d := n.observe(signal, available)
				require.Equal(t, Nothing, d.Action)
				require.Equal(t, pressure, len(d.Conditions) == 1)
				if pressure {
					require.Equal(t, signal.Condition(), d.Conditions[0])
				}
			}
			nothing(tc.enough, false)
			admits([]bool{true, true})
			n.after(time.Minute)
			nothing(tc.shortSoft, true)
			n.after(3 * time.Minute)
			goes(tc.shortSoft, false)
			n.after(20 * time.Minute)
			nothing(tc.enough, false)
			n.after(time.Minute)
			goes(tc.shorts, true)
			admits(tc.admits)
			n.after(time.Minute)
			nothing(tc.enough, true)
			admits(tc.admits)
			n.after(5 * time.Minute)
			nothing(tc.enough, false)
			admits([]bool{true, true})
		})
	}
}

// TestClockThatBeginsAtNothing: the zero time is a valid reading of a test's clock.
func TestClockThatBeginsAtNothing(t *testing.T) {
	n := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")))
	n.clock.SetTime(time.Time{})
	require.Len(t, n.observe(MemoryAvailable, "0").Conditions, 1)
	n.clock.SetTime(time.Time{}.Add(time.Minute))
	require.Len(t, n.observe(MemoryAvailable, "2Gi").Conditions, 1, "for the transition period")
	next, ok := n.machine.Next()
	require.True(t, ok)
	require.Equal(t, time.Time{}.Add(5*time.Minute), next)
}
