package nodepressure_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

var always = v1.ContainerRestartPolicyAlways

// inits appends init containers; those whose names begin with "sidecar" restart.
func inits(containers ...v1.Container) edit {
	return func(p *Pod) { p.Spec.InitContainers = append(p.Spec.InitContainers, containers...) }
}

func initContainer(name string, l v1.ResourceList) v1.Container {
	c := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: l}}
	if len(name) >= 7 && name[:7] == "sidecar" {
		c.RestartPolicy = &always
	}
	return c
}

func overhead(pairs ...string) edit { return func(p *Pod) { p.Spec.Overhead = list(pairs...) } }

func podLevel(requests, limits v1.ResourceList) edit {
	return func(p *Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: requests, Limits: limits} }
}

func TestRequests(t *testing.T) {
	second := func(p *Pod) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "second", Resources: v1.ResourceRequirements{Requests: list("memory", "2Mi", "ephemeral-storage", "20Mi")}})
	}
	for _, tc := range []struct {
		name            string
		edits           []edit
		memory, storage string
	}{
		{"None", nil, "0", "0"},
		{"Containers", []edit{requests("memory", "1Mi", "ephemeral-storage", "10Mi"), second}, "3Mi", "30Mi"},
		{"FractionsAreRoundedDown", []edit{requests("memory", "1500m", "ephemeral-storage", "0.1Gi")}, "1", "107374182"},
		{"FractionsAreAddedFirst", []edit{requests("memory", "1500m"), inits(initContainer("sidecar", list("memory", "1500m")))}, "3", "0"},
		{"BeyondInt64", []edit{requests("memory", "10E")}, "9223372036854775807", "0"},
		{"InitBelow", []edit{requests("memory", "5Mi"), inits(initContainer("init", list("memory", "3Mi")))}, "5Mi", "0"},
		{"InitAbove", []edit{requests("memory", "5Mi"), inits(initContainer("init", list("memory", "7Mi")))}, "7Mi", "0"},
		{"SidecarsAdd", []edit{requests("memory", "5Mi"), inits(initContainer("sidecar", list("memory", "3Mi")))}, "8Mi", "0"},
		{"InitAfterSidecar", []edit{requests("memory", "1Mi"), inits(initContainer("sidecar", list("memory", "3Mi")), initContainer("init", list("memory", "7Mi")))}, "10Mi", "0"},
		{"InitBeforeSidecar", []edit{requests("memory", "1Mi"), inits(initContainer("init", list("memory", "7Mi")), initContainer("sidecar", list("memory", "3Mi")))}, "7Mi", "0"},
		{"Overhead", []edit{requests("memory", "5Mi"), overhead("memory", "1Mi", "ephemeral-storage", "1Mi")}, "6Mi", "0"},
		{"PodLevel", []edit{requests("memory", "5Mi", "ephemeral-storage", "10Mi"), podLevel(list("memory", "9Mi"), nil), overhead("memory", "1Mi")}, "10Mi", "10Mi"},
		{"PodLevelOfOthers", []edit{requests("memory", "5Mi"), podLevel(list("cpu", "1"), nil)}, "0", "0"},
		{"PodLevelOfHugePages", []edit{requests("memory", "5Mi"), podLevel(list("hugepages-2Mi", "2Mi"), nil)}, "0", "0"},
		{"PodLevelOfWhatCannotBe", []edit{requests("memory", "5Mi"), podLevel(list("ephemeral-storage", "1Gi"), list("example.com/gpu", "1"))}, "5Mi", "0"},
		{"PodLevelLimits", []edit{requests("memory", "5Mi"), podLevel(nil, list("memory", "9Mi"))}, "0", "0"},
		{"PodLevelEmpty", []edit{requests("memory", "5Mi"), podLevel(nil, nil)}, "5Mi", "0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pods := []Pod{build("pod", mid, tc.edits...)}
			require.Equal(t, bytesOf(tc.memory), Rank(pods, MemoryAvailable, SingleFs, nil)[0].Requested)
			require.Equal(t, bytesOf(tc.storage), Rank(pods, NodeFsAvailable, SingleFs, nil)[0].Requested)
		})
	}
}

func TestQOSClass(t *testing.T) {
	both := func(cpu, memory string) v1.ResourceList { return list("cpu", cpu, "memory", memory) }
	full := v1.ResourceRequirements{Requests: both("1", "1Gi"), Limits: both("1", "1Gi")}
	for _, tc := range []struct {
		name  string
		edits []edit
		want  v1.PodQOSClass
	}{
		{"Nothing", nil, v1.PodQOSBestEffort},
		{"Zero", []edit{requests("cpu", "0", "memory", "0"), limits("memory", "0")}, v1.PodQOSBestEffort},
		{"Negative", []edit{requests("cpu", "-1"), limits("memory", "-1")}, v1.PodQOSBestEffort},
		{"OtherResources", []edit{requests("ephemeral-storage", "1Gi"), limits("example.com/gpu", "1")}, v1.PodQOSBestEffort},
		{"Request", []edit{requests("cpu", "1m")}, v1.PodQOSBurstable},
		{"Limit", []edit{limits("cpu", "1m")}, v1.PodQOSBurstable},
		{"Equal", []edit{guaranteed("1Gi")}, v1.PodQOSGuaranteed},
		{"EqualHoweverWritten", []edit{requests("cpu", "1000m", "memory", "1Gi"), limits("cpu", "1", "memory", "1024Mi")}, v1.PodQOSGuaranteed},
		{"OnlyMemory", []edit{requests("memory", "1Gi"), limits("memory", "1Gi")}, v1.PodQOSBurstable},
		{"LimitsWithoutRequests", []edit{limits("cpu", "1", "memory", "1Gi")}, v1.PodQOSBurstable},
		{"LimitsAbove", []edit{requests("cpu", "1", "memory", "1Gi"), limits("cpu", "2", "memory", "1Gi")}, v1.PodQOSBurstable},
		{"RequestsAboveLimitsElsewhereBelow", []edit{
			requests("cpu", "2", "memory", "1Gi"), limits("cpu", "1", "memory", "1Gi"),
			inits(v1.Container{Name: "init", Resources: v1.ResourceRequirements{Requests: both("1", "1Gi"), Limits: both("2", "1Gi")}}),
		}, v1.PodQOSBurstable},
		{"InitContainerWithout", []edit{guaranteed("1Gi"), inits(v1.Container{Name: "init"})}, v1.PodQOSBurstable},
		{"InitContainerWith", []edit{guaranteed("1Gi"), inits(v1.Container{Name: "init", Resources: full})}, v1.PodQOSGuaranteed},
		{"PodLevelGuaranteed", []edit{podLevel(full.Requests, full.Limits)}, v1.PodQOSGuaranteed},
		{"PodLevelRequests", []edit{podLevel(full.Requests, nil)}, v1.PodQOSBurstable},
		{"PodLevelOneLimit", []edit{podLevel(full.Requests, list("cpu", "1"))}, v1.PodQOSBurstable},
		{"PodLevelEmpty", []edit{guaranteed("1Gi"), podLevel(nil, nil)}, v1.PodQOSGuaranteed},
		{"PodLevelOfWhatCannotBe", []edit{guaranteed("1Gi"), podLevel(list("ephemeral-storage", "1Gi"), nil)}, v1.PodQOSGuaranteed},
		{"PodLevelOfHugePages", []edit{guaranteed("1Gi"), podLevel(list("hugepages-2Mi", "2Mi"), nil)}, v1.PodQOSBestEffort},
		{"StatusIsNotLookedAt", []edit{func(p *Pod) { p.Status.QOSClass = v1.PodQOSGuaranteed }}, v1.PodQOSBestEffort},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, QOSClass(build("pod", mid, tc.edits...).Pod))
		})
	}
}

func annotated(key, value string) edit {
	return func(p *Pod) { p.Annotations = map[string]string{key: value} }
}

const configSource = "kubernetes.io/config.source"

func TestProtection(t *testing.T) {
	for _, tc := range []struct {
		name     string
		priority int32
		edits    []edit
		want     Protection
	}{
		{"Ordinary", mid, nil, Evictable},
		{"NoPriority", mid, []edit{func(p *Pod) { p.Spec.Priority = nil }}, Evictable},
		{"FromTheAPI", mid, []edit{annotated(configSource, "api")}, Evictable},
		{"FromAFile", mid, []edit{annotated(configSource, "file")}, StaticPod},
		{"FromAURL", mid, []edit{annotated(configSource, "http")}, StaticPod},
		{"EmptySource", mid, []edit{annotated(configSource, "")}, StaticPod},
		{"Mirror", mid, []edit{annotated(v1.MirrorPodAnnotationKey, "hash")}, MirrorPod},
		{"HighestOfUsers", 1_000_000_000, nil, Evictable},
		{"AlmostCritical", 1_999_999_999, nil, Evictable},
		{"ClusterCritical", 2_000_000_000, nil, CriticalPod},
		{"NodeCritical", 2_000_001_000, nil, CriticalPod},
		{"StaticAndCritical", 2_000_001_000, []edit{annotated(configSource, "file")}, StaticPod},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, ProtectionOf(build("pod", tc.priority, tc.edits...).Pod))
		})
	}
}

func TestAdmission(t *testing.T) {
	memory, disk := v1.NodeMemoryPressure, v1.NodeDiskPressure
	tolerates := func(key string, effect v1.TaintEffect) edit {
		return func(p *Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: key, Operator: v1.TolerationOpExists, Effect: effect}}
		}
	}
	for _, tc := range []struct {
		name     string
		under    []v1.NodeConditionType
		priority int32
		edits    []edit
		want     bool
	}{
		{"BestEffortUnderNothing", nil, mid, nil, true},
		{"BestEffort", []v1.NodeConditionType{memory}, mid, nil, false},
		{"Burstable", []v1.NodeConditionType{memory}, mid, []edit{requests("memory", "1Mi")}, true},
		{"Guaranteed", []v1.NodeConditionType{memory}, mid, []edit{guaranteed("1Gi")}, true},
		{"Tolerates", []v1.NodeConditionType{memory}, mid, []edit{tolerates(v1.TaintNodeMemoryPressure, v1.TaintEffectNoSchedule)}, true},
		{"ToleratesAllEffects", []v1.NodeConditionType{memory}, mid, []edit{tolerates(v1.TaintNodeMemoryPressure, "")}, true},
		{"ToleratesEverything", []v1.NodeConditionType{memory}, mid, []edit{tolerates("", "")}, true},
		{"ToleratesAnother", []v1.NodeConditionType{memory}, mid, []edit{tolerates(v1.TaintNodeDiskPressure, v1.TaintEffectNoSchedule)}, false},
		{"ToleratesAnotherEffect", []v1.NodeConditionType{memory}, mid, []edit{tolerates(v1.TaintNodeMemoryPressure, v1.TaintEffectNoExecute)}, false},
		{"StatusSaysBurstable", []v1.NodeConditionType{memory}, mid, []edit{func(p *Pod) { p.Status.QOSClass = v1.PodQOSBurstable }}, false},
		{"GuaranteedUnderDisk", []v1.NodeConditionType{disk}, mid, []edit{guaranteed("1Gi")}, false},
		{"GuaranteedUnderBoth", []v1.NodeConditionType{memory, disk}, mid, []edit{guaranteed("1Gi")}, false},
		{"ToleratesDisk", []v1.NodeConditionType{disk}, mid, []edit{tolerates(v1.TaintNodeDiskPressure, v1.TaintEffectNoSchedule)}, false},
		{"Processes", []v1.NodeConditionType{v1.NodePIDPressure}, high, []edit{guaranteed("1Gi")}, false},
		{"CriticalUnderDisk", []v1.NodeConditionType{disk}, 2_000_000_000, nil, true},
		{"StaticUnderBoth", []v1.NodeConditionType{memory, disk}, mid, []edit{annotated(configSource, "file")}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Admit(tc.under, build("pod", tc.priority, tc.edits...).Pod)
			require.Equal(t, tc.want, got.Admitted)
			require.Equal(t, tc.want, got.Reason == "" && got.Message == "")
			require.True(t, tc.want || got.Reason == "Evicted")
		})
	}
	require.Equal(t, "The node had condition: [MemoryPressure DiskPressure]. ", Admit([]v1.NodeConditionType{memory, disk}, build("pod", mid).Pod).Message)
}
