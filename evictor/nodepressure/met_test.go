package nodepressure_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestMet: strictly less than the value is available; percentages are of the capacity, which is 10Gi.
func TestMet(t *testing.T) {
	for _, tc := range []struct {
		name      string
		threshold Threshold
		available string
		met       bool
	}{
		{"Less", hardly(MemoryAvailable, "1Gi"), "1Mi", true},
		{"Exactly", hardly(MemoryAvailable, "1Gi"), "1Gi", false},
		{"OneLess", hardly(MemoryAvailable, "1Gi"), "1073741823", true},
		{"More", hardly(MemoryAvailable, "1Gi"), "2Gi", false},
		{"Negative", hardly(MemoryAvailable, "1Gi"), "-1", true},
		{"FractionAbove", hardly(PIDAvailable, "1500m"), "1", true},
		{"FractionBelow", hardly(PIDAvailable, "1500m"), "2", false},
		{"BeyondInt64", hardly(MemoryAvailable, "10E"), "9223372036854775806", true},
		{"ShareLess", percent(MemoryAvailable, 0.1), "1073741823", true},
		{"ShareExactly", percent(MemoryAvailable, 0.5), "5Gi", false},
		{"ShareOneLess", percent(MemoryAvailable, 0.5), "5368709119", true},
		{"ShareIsRoundedDown", percent(PIDAvailable, 0.00015), "1", false},
		{"ReclaimDoesNotCount", reclaiming(hardly(MemoryAvailable, "1Gi"), "5Gi"), "1Gi", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNode(t, thresholds(tc.threshold))
			d := n.observe(tc.threshold.Signal, tc.available)
			require.Equal(t, tc.met, len(d.Met) == 1)
			if tc.met {
				require.Equal(t, []v1.NodeConditionType{tc.threshold.Signal.Condition()}, d.Conditions)
				require.Equal(t, tc.threshold.Signal, d.Met[0].Threshold.Signal)
				require.Equal(t, epoch, d.Met[0].Since)
				require.True(t, d.Met[0].Due)
			} else {
				require.Equal(t, Decision{Time: epoch}, d)
			}
		})
	}
	t.Run("NoSample", func(t *testing.T) {
		n := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")))
		require.Empty(t, n.observe(PIDAvailable, "0").Met)
	})
	t.Run("OtherSignalsAreIgnored", func(t *testing.T) {
		n := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")))
		require.Empty(t, n.machine.Observe(Stats{Signals: map[Signal]Sample{"mem.available": {}}}).Met)
	})
	t.Run("ShareOfEverythingSaturates", func(t *testing.T) {
		n := newNode(t, thresholds(percent(MemoryAvailable, 1)))
		d := n.machine.Observe(Stats{Signals: map[Signal]Sample{MemoryAvailable: {Available: math.MaxInt64 - 1, Capacity: math.MaxInt64}}})
		require.Len(t, d.Met, 1)
	})
}

// TestUnreachableMinReclaim: after a momentary shortage, no pod goes for a minimum reclaim that the node cannot have.
func TestUnreachableMinReclaim(t *testing.T) {
	for name, threshold := range map[string]Threshold{
		"Quantity": reclaiming(hardly(MemoryAvailable, "1Gi"), "9Gi"), // of 10Gi
		"Mixed":    {Signal: MemoryAvailable, Value: Value{Percentage: 0.1}, MinReclaim: Value{Quantity: resource.MustParse("20Gi")}},
	} {
		n := newNode(t, thresholds(threshold), build("cart", mid, memoryUse("1Gi")), build("web", mid, memoryUse("1Mi")))
		require.Equal(t, []string{"cart"}, evicted(n.observe(MemoryAvailable, "512Mi").Evictions), name)
		require.Equal(t, Nothing, n.observe(MemoryAvailable, "2Gi").Action, name)
	}
	// One byte less can be reached, and counts. So does any, if the capacity is not known.
	n := newNode(t, thresholds(reclaiming(hardly(MemoryAvailable, "1Gi"), "9663676415")), build("cart", mid, memoryUse("1Gi")))
	n.observe(MemoryAvailable, "512Mi")
	require.True(t, n.observe(MemoryAvailable, "2Gi").Met[0].Rising)
	n = newNode(t, thresholds(reclaiming(hardly(MemoryAvailable, "1Gi"), "9Gi")))
	n.observe(MemoryAvailable, "512Mi")
	require.True(t, n.machine.Observe(Stats{Signals: map[Signal]Sample{MemoryAvailable: {Available: bytesOf("2Gi")}}}).Met[0].Rising)
}

// TestMinReclaim: upstream's series, by quantity and by share. A shortage that was acted on lasts until the minimum
// reclaim is available on top.
func TestMinReclaim(t *testing.T) {
	for _, tc := range []struct {
		name      string
		threshold Threshold
		enough    string
	}{
		{"Quantity", reclaiming(hardly(MemoryAvailable, "1Gi"), "500Mi"), "1524Mi"},
		{"Share", Threshold{Signal: MemoryAvailable, Value: Value{Percentage: 0.125}, MinReclaim: Value{Percentage: 0.125}}, "2560Mi"},
		{"Mixed", Threshold{Signal: MemoryAvailable, Value: Value{Quantity: resource.MustParse("1Gi")}, MinReclaim: Value{Percentage: 0.125}}, "2304Mi"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enough := bytesOf(tc.enough)
			n := newNode(t, thresholds(tc.threshold), build("pod", mid))
			observe := func(available int64) Decision {
				n.after(time.Minute)
				return n.machine.Observe(Stats{Pods: n.pods, Signals: map[Signal]Sample{MemoryAvailable: {Available: available, Capacity: bytesOf("10Gi")}}})
			}
			require.Equal(t, Nothing, observe(enough-1).Action, "not met before, so it does not stay met")
			require.Equal(t, EvictPods, observe(bytesOf("500Mi")).Action)
			d := observe(enough - 1)
			require.Equal(t, EvictPods, d.Action, "until the minimum reclaim is there")
			require.True(t, d.Met[0].Rising)
			require.Equal(t, epoch.Add(2*time.Minute), d.Met[0].Since)
			d = observe(enough)
			require.Equal(t, Nothing, d.Action)
			require.Empty(t, d.Met)
			require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, d.Conditions, "for the transition period")
			require.Empty(t, observe(enough-1).Met, "it is over")
		})
	}
}

// TestConditions: a condition is True while a threshold for it is met, even during the grace period, and for less than
// the transition period after that.
func TestConditions(t *testing.T) {
	n := newNode(t, thresholds(softly(MemoryAvailable, "1Gi", time.Hour), hardly(NodeFsAvailable, "1Gi"), hardly(PIDAvailable, "100")))
	all := []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure}
	stats := func(memory, disk, pids string) Stats {
		return Stats{Signals: map[Signal]Sample{MemoryAvailable: {Available: bytesOf(memory)}, NodeFsAvailable: {Available: bytesOf(disk)}, PIDAvailable: {Available: bytesOf(pids)}}}
	}
	require.Equal(t, all, n.machine.Observe(stats("0", "0", "0")).Conditions)
	n.after(time.Minute)
	require.Equal(t, all, n.machine.Observe(stats("0", "2Gi", "200")).Conditions)
	next, pending := n.machine.Next()
	require.True(t, pending)
	require.Equal(t, epoch.Add(5*time.Minute), next)
	n.after(4*time.Minute - 1)
	require.Equal(t, all, n.machine.Observe(stats("2Gi", "2Gi", "200")).Conditions)
	n.after(1)
	require.Equal(t, all[:1], n.machine.Observe(stats("2Gi", "2Gi", "200")).Conditions, "the others were last met five minutes ago")
	require.Equal(t, all[:1], n.machine.Conditions())
	next, pending = n.machine.Next()
	require.True(t, pending)
	require.Equal(t, epoch.Add(6*time.Minute), next)
	n.after(5 * time.Minute)
	require.Equal(t, all[:1], n.machine.Conditions(), "as of the last Observe")
	require.Empty(t, n.machine.Observe(stats("2Gi", "2Gi", "200")).Conditions)
	_, pending = n.machine.Next()
	require.False(t, pending)
}

func TestConditionsWithoutTransitionPeriod(t *testing.T) {
	config := thresholds(hardly(MemoryAvailable, "1Gi"))
	config.PressureTransitionPeriod = 0
	n := newNode(t, config)
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, n.observe(MemoryAvailable, "0").Conditions)
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, n.machine.Conditions())
	require.Empty(t, n.observe(MemoryAvailable, "1Gi").Conditions)
}

func TestNodeConditions(t *testing.T) {
	under := []v1.NodeCondition{
		{Type: v1.NodeMemoryPressure, Status: v1.ConditionTrue, Reason: "KubeletHasInsufficientMemory", Message: "kubelet has insufficient memory available"},
		{Type: v1.NodeDiskPressure, Status: v1.ConditionTrue, Reason: "KubeletHasDiskPressure", Message: "kubelet has disk pressure"},
		{Type: v1.NodePIDPressure, Status: v1.ConditionTrue, Reason: "KubeletHasInsufficientPID", Message: "kubelet has insufficient PID available"},
	}
	without := []v1.NodeCondition{
		{Type: v1.NodeMemoryPressure, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: v1.NodeDiskPressure, Status: v1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: v1.NodePIDPressure, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
	}
	require.Equal(t, under, NodeConditions([]v1.NodeConditionType{v1.NodePIDPressure, v1.NodeDiskPressure, v1.NodeMemoryPressure}))
	require.Equal(t, []v1.NodeCondition{under[0], under[1], without[2]}, NodeConditions([]v1.NodeConditionType{v1.NodeDiskPressure, v1.NodeMemoryPressure}))
	require.Equal(t, without, NodeConditions(nil))
}

// TestUpdatedStats: upstream's six cases. Only a new measurement is acted on.
func TestUpdatedStats(t *testing.T) {
	now, earlier := epoch, epoch.Add(-time.Minute)
	never := time.Time{}
	for _, tc := range []struct {
		name       string
		last, this time.Time
		known      bool
		acts       bool
	}{
		{"NoTime", never, never, false, true},
		{"NoTimeAgain", never, never, true, true},
		{"NoLastSample", never, now, false, true},
		{"TimeMachine", now, earlier, true, false},
		{"SameSample", now, now, true, false},
		{"NewSample", earlier, now, true, true},
		{"FirstWithTime", never, now, true, true},
		{"FirstWithoutTime", now, never, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")), build("pod", mid))
			observe := func(at time.Time) Decision {
				return n.machine.Observe(Stats{Pods: n.pods, Signals: map[Signal]Sample{MemoryAvailable: {Time: at}}})
			}
			if tc.known {
				require.Equal(t, EvictPods, observe(tc.last).Action)
			}
			d := observe(tc.this)
			require.Equal(t, tc.acts, d.Action == EvictPods)
			require.Equal(t, !tc.acts, d.Met[0].Stale)
			require.NotEmpty(t, d.Conditions)
		})
	}
}

func TestStaleOverAGap(t *testing.T) {
	n := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")), build("pod", mid))
	stats := Stats{Pods: n.pods, Signals: map[Signal]Sample{MemoryAvailable: {Time: epoch}}}
	require.Equal(t, EvictPods, n.machine.Observe(stats).Action)
	require.Equal(t, Nothing, n.machine.Observe(Stats{Pods: n.pods}).Action)
	d := n.machine.Observe(stats)
	require.Equal(t, Nothing, d.Action)
	require.True(t, d.Met[0].Stale)
}

// TestContainerFsFromTheFirstSample: its thresholds are derived before the first sample.
func TestContainerFsFromTheFirstSample(t *testing.T) {
	n := newNode(t, thresholds(softly(NodeFsAvailable, "1Gi", time.Minute)), build("pod", mid))
	d := n.observe(ContainerFsAvailable, "0")
	require.Len(t, d.Met, 1)
	require.Equal(t, epoch, d.Met[0].Since)
	require.Equal(t, []v1.NodeConditionType{v1.NodeDiskPressure}, d.Conditions)
}

// TestClockThatGoesBack: no time has passed, it counts on from there, and instants are as the clock shows them now.
func TestClockThatGoesBack(t *testing.T) {
	n := newNode(t, thresholds(softly(MemoryAvailable, "1Gi", time.Minute)), build("pod", mid))
	n.observe(MemoryAvailable, "0")
	n.after(30 * time.Second)
	require.Equal(t, Nothing, n.observe(MemoryAvailable, "0").Action)
	n.after(-time.Hour)
	d := n.observe(MemoryAvailable, "0")
	require.Equal(t, epoch.Add(30*time.Second-time.Hour), d.Time)
	require.Equal(t, epoch.Add(-time.Hour), d.Met[0].Since)
	n.after(30*time.Second - 1)
	require.Equal(t, Nothing, n.observe(MemoryAvailable, "0").Action)
	n.after(1)
	require.Equal(t, EvictPods, n.observe(MemoryAvailable, "0").Action)
}

func TestThresholdsAreInTheOrderOfActing(t *testing.T) {
	n := newNode(t, thresholds(
		softly(MemoryAvailable, "2Gi", time.Minute), hardly(PIDAvailable, "100"), hardly(NodeFsInodesFree, "100"), hardly(NodeFsAvailable, "1Gi"), hardly(MemoryAvailable, "1Gi"),
	))
	n.machine.Thresholds()[0] = Threshold{} // it is a copy
	var got []string
	for _, threshold := range n.machine.Thresholds() {
		got = append(got, threshold.String())
	}
	require.Equal(t, []string{
		"memory.available < 1Gi", "nodefs.available < 1Gi", "nodefs.inodesFree < 100", "containerfs.available < 1Gi", "containerfs.inodesFree < 100", "pid.available < 100",
		"memory.available < 2Gi for 1m0s",
	}, got)
}
