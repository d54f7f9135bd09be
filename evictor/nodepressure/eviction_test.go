package nodepressure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// uses sets the containers' usage of memory, in pairs of name and amount.
func uses(pairs ...string) edit {
	return func(p *Pod) {
		p.Usage = &Usage{Memory: bytesOf("1Gi")}
		for i := 0; i < len(pairs); i += 2 {
			p.Usage.Containers = append(p.Usage.Containers, ContainerUsage{Name: pairs[i], Memory: bytesOf(pairs[i+1])})
		}
	}
}

// TestMessages: upstream's message, the containers and usage that it names, and the annotations.
func TestMessages(t *testing.T) {
	memory := "The node was low on resource: memory. Threshold quantity: 1Gi, available: 500Mi. "
	blame := func(name, used, requested, what string) string {
		return "Container " + name + " was using " + used + ", request is " + requested + ", has larger consumption of " + what + ". "
	}
	sidecars := inits(initContainer("init", list("memory", "100Mi")), initContainer("sidecar-1", list("memory", "200Mi")), initContainer("sidecar-2", nil))
	for _, tc := range []struct {
		name        string
		signal      Signal
		available   string
		edits       []edit
		want        string
		containers  string
		usages      string
		annotations int
	}{
		{"UnknownUsage", MemoryAvailable, "500Mi", nil, memory, "", "", 0},
		{"NobodyExceeds", MemoryAvailable, "500Mi", []edit{requests("memory", "200Mi"), uses("main", "200Mi")}, memory, "", "", 3},
		{"Container", MemoryAvailable, "500Mi", []edit{requests("memory", "200Mi"), uses("main", "250Mi")}, memory + blame("main", "250Mi", "200Mi", "memory"), "main", "250Mi", 3},
		{"InitContainer", MemoryAvailable, "500Mi", []edit{requests("memory", "200Mi"), sidecars, uses("init", "150Mi")}, memory + blame("init", "150Mi", "100Mi", "memory"), "init", "150Mi", 3},
		{
			"SidecarsAndContainer", MemoryAvailable, "500Mi",
			[]edit{sidecars, uses("sidecar-1", "150Mi", "sidecar-2", "250Mi", "main", "200Mi")},
			memory + blame("sidecar-2", "250Mi", "0", "memory") + blame("main", "200Mi", "0", "memory"), "sidecar-2,main", "250Mi,200Mi", 3,
		},
		{"EphemeralContainersAreNotBlamed", MemoryAvailable, "500Mi", []edit{uses("debugger", "250Mi")}, memory, "", "", 3},
		{
			"PodLevel", MemoryAvailable, "500Mi", []edit{podLevel(list("memory", "250Mi"), nil), uses("main", "100Mi")},
			memory + "Pod pod was using 1Gi, request is 250Mi, has larger consumption of memory. " + blame("main", "100Mi", "0", "memory"), "main", "100Mi", 5,
		},
		{
			"PodLevelUnderDisk", NodeFsAvailable, "500Mi", []edit{podLevel(list("memory", "1", "ephemeral-storage", "1"), nil), memoryUse("1Gi")},
			"The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 500Mi. ", "", "", 3,
		},
		{
			"NegativeMemoryIsNothing", MemoryAvailable, "500Mi", []edit{podLevel(list("memory", "1Gi"), nil), uses("main", "-1"), func(p *Pod) { p.Usage.Memory = -1 }},
			memory + "Pod pod was using 0, request is 1Gi, has larger consumption of memory. ", "", "", 5,
		},
		{
			"NegativeDiskIsNothing", NodeFsAvailable, "500Mi", []edit{storage("100Mi"), diskUse("-1Gi", "150Mi", "0")},
			"The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 500Mi. " + blame("main", "150Mi", "100Mi", "ephemeral-storage"), "main", "150Mi", 3,
		},
		{"PodLevelOfOthers", MemoryAvailable, "500Mi", []edit{podLevel(list("cpu", "1"), nil), uses()}, memory, "", "", 3},
		{
			"Disk", NodeFsAvailable, "500Mi", []edit{storage("100Mi"), diskUse("100Mi", "50Mi", "1Gi")},
			"The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 500Mi. " + blame("main", "150Mi", "100Mi", "ephemeral-storage"), "main", "150Mi", 3,
		},
		{"Inodes", NodeFsInodesFree, "500", []edit{inodeUse(1, 1, 1)}, "The node was low on resource: inodes. Threshold quantity: 1k, available: 500. ", "", "", 3},
		{"Processes", PIDAvailable, "7000", []edit{processes(3)}, "The node was low on resource: pids. Threshold quantity: 7500, available: 7k. ", "", "", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := thresholds(hardly(MemoryAvailable, "1Gi"), hardly(NodeFsAvailable, "1Gi"), hardly(NodeFsInodesFree, "1k"), percent(PIDAvailable, 0.75))
			d := newNode(t, config, build("pod", mid, tc.edits...)).observe(tc.signal, tc.available)
			require.Len(t, d.Evictions, 1)
			e := d.Evictions[0]
			require.Equal(t, tc.want, e.Message)
			require.Len(t, e.Annotations, tc.annotations)
			require.Equal(t, tc.containers, e.Annotations[OffendingContainersKey])
			require.Equal(t, tc.usages, e.Annotations[OffendingContainersUsageKey])
			if tc.annotations > 0 {
				require.Equal(t, string(tc.signal.Resource()), e.Annotations[StarvedResourceKey])
			}
			if tc.annotations == 5 {
				require.Equal(t, "pod", e.Annotations[OffendingPodKey])
				require.Contains(t, e.Message, "Pod pod was using "+e.Annotations[OffendingPodUsageKey]+", ")
			}
			require.Equal(t, string(tc.signal), e.Cause)
			require.True(t, e.Hard)
			require.EqualValues(t, 1, e.GracePeriodSeconds)
			require.Equal(t, &v1.PodCondition{Type: "DisruptionTarget", Status: "True", Reason: "TerminationByKubelet", Message: tc.want}, e.Condition)
		})
	}
}

func TestGracePeriodOfSoftEvictions(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	for _, tc := range []struct {
		name string
		most int64
		own  *int64
		want int64
	}{
		{"Cap", 5, nil, 5},
		{"CapBelowOwn", 5, seconds(30), 5},
		{"OwnBelowCap", 50, seconds(30), 30},
		{"OwnIsNothing", 50, seconds(0), 0},
		{"CapIsNothing", 0, seconds(30), 0},
		{"CapIsNothingWithoutOwn", 0, nil, 0},
		{"NegativeDefersToThePod", -1, seconds(120), 120},
		{"NegativeDefersToTheDefault", -1, nil, 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := thresholds(softly(MemoryAvailable, "1Gi", time.Second))
			config.MaxPodGracePeriodSeconds = tc.most
			n := newNode(t, config, build("pod", mid, func(p *Pod) { p.Spec.TerminationGracePeriodSeconds = tc.own }))
			n.observe(MemoryAvailable, "0")
			n.after(time.Second)
			d := n.observe(MemoryAvailable, "0")
			require.False(t, d.Evictions[0].Hard)
			require.Equal(t, tc.want, d.Evictions[0].GracePeriodSeconds)
		})
	}
}

// TestAnyCandidateCanBeEvicted: a caller may evict another candidate of the same decision.
func TestAnyCandidateCanBeEvicted(t *testing.T) {
	d := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")), build("a", mid, memoryUse("2Gi")), build("b", mid, memoryUse("1Gi"))).observe(MemoryAvailable, "0")
	e := d.Eviction(&d.Ranked[1])
	require.Equal(t, "b", e.Pod.Name)
	require.Contains(t, e.Message, "Container main was using 1Gi, request is 0, has larger consumption of memory. ")
}

// TestApply: phase, reason and message, and the condition, which replaces an earlier one.
func TestApply(t *testing.T) {
	d := newNode(t, thresholds(hardly(MemoryAvailable, "1Gi")), build("pod", mid)).observe(MemoryAvailable, "0")
	e := d.Evictions[0]
	now, before := metav1.NewTime(epoch), metav1.NewTime(epoch.Add(-time.Hour))
	condition := *e.Condition
	condition.LastTransitionTime = now

	status := v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	e.Apply(&status, now)
	require.Equal(t, v1.PodStatus{
		Phase: v1.PodFailed, Reason: "Evicted", Message: e.Message,
		Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, condition},
	}, status)

	status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, LastTransitionTime: before}}
	e.Apply(&status, now)
	require.Equal(t, before, status.Conditions[0].LastTransitionTime, "it was True before")
	require.Equal(t, e.Message, status.Conditions[0].Message)

	status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionFalse, LastTransitionTime: before}}
	e.Apply(&status, now)
	require.Equal(t, []v1.PodCondition{condition}, status.Conditions)
	require.Zero(t, e.Condition.LastTransitionTime, "the eviction stays what it was")

	limited := Eviction{Message: "too much"}
	status = v1.PodStatus{}
	limited.Apply(&status, now)
	require.Equal(t, v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: "too much"}, status)
}
