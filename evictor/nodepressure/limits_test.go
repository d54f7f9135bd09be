package nodepressure_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

func storageLimit(text string) edit { return limits("ephemeral-storage", text) }

// sized limits the size of the pod's emptyDir. It comes after diskUse.
func sized(text string, medium v1.StorageMedium) edit {
	return func(p *Pod) {
		limit := resource.MustParse(text)
		p.Spec.Volumes[0].EmptyDir.SizeLimit, p.Spec.Volumes[0].EmptyDir.Medium = &limit, medium
	}
}

// whole sets a total that counts against the pod's limit and that no container or volume shows.
func whole(text string) edit { return func(p *Pod) { p.Usage.EphemeralStorage = bytesOf(text) } }

// TestStorageLimits: upstream's three cases and their edges: more than the limit, not exactly the limit.
func TestStorageLimits(t *testing.T) {
	limit := v1.ResourceRequirements{Limits: list("ephemeral-storage", "3Gi")}
	initLimit := inits(v1.Container{Name: "init", Resources: limit})
	sidecarLimit := inits(v1.Container{Name: "sidecar", RestartPolicy: &always, Resources: limit})
	usedBy := func(name string) edit { return func(p *Pod) { p.Usage.Containers[0].Name = name } }
	for _, tc := range []struct {
		name    string
		edits   []edit
		layout  Layout
		cause   string
		message string
	}{
		{"NoLimits", []edit{diskUse("9Gi", "9Gi", "9Gi")}, SingleFs, "", ""},
		{"NoUsage", []edit{storageLimit("1Gi")}, SingleFs, "", ""},
		{"RootfsAboveLimit", []edit{storageLimit("1Gi"), diskUse("2Gi", "0", "0")}, SingleFs, PodLimit, "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "},
		{"LogsAboveLimit", []edit{storageLimit("1Gi"), diskUse("0", "2Gi", "0")}, SingleFs, PodLimit, "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "},
		{"PodExactlyAtLimit", []edit{storageLimit("1Gi"), diskUse("0", "0", "1Gi")}, SingleFs, "", ""},
		{"InitContainersRaiseThePodsLimit", []edit{storageLimit("1Gi"), initLimit, diskUse("0", "0", "2Gi")}, SingleFs, "", ""},
		{"OnlyInitContainersHaveALimit", []edit{initLimit, diskUse("0", "0", "4Gi")}, SingleFs, PodLimit, "Pod ephemeral local storage usage exceeds the total limit of containers 3Gi. "},
		{"OverheadRaisesThePodsLimit", []edit{storageLimit("1Gi"), overhead("ephemeral-storage", "1Gi"), diskUse("0", "0", "2Gi")}, SingleFs, "", ""},
		{"OverheadOfNoLimitIsNone", []edit{storageLimit("0"), overhead("ephemeral-storage", "1Gi"), diskUse("0", "0", "1")}, SingleFs, PodLimit, "Pod ephemeral local storage usage exceeds the total limit of containers 0. "},
		{"ContainerAboveLimit", []edit{storageLimit("1Gi"), diskUse("1Gi", "1", "0"), whole("0")}, SingleFs, ContainerLimit, `Container main exceeded its local ephemeral storage limit "1Gi". `},
		{"ContainerExactlyAtLimit", []edit{storageLimit("1Gi"), diskUse("1Gi", "0", "0"), whole("0")}, SingleFs, "", ""},
		{"WritableLayerElsewhere", []edit{storageLimit("1Gi"), diskUse("2Gi", "1Gi", "0"), whole("0")}, DedicatedImageFs, "", ""},
		{"WritableLayerSplit", []edit{storageLimit("1Gi"), diskUse("2Gi", "1Gi", "0"), whole("0")}, SplitImageFs, "", ""},
		{"LogsBesideImageFs", []edit{storageLimit("1Gi"), diskUse("0", "1025Mi", "0"), whole("0")}, DedicatedImageFs, ContainerLimit, `Container main exceeded its local ephemeral storage limit "1Gi". `},
		{"ContainerLimitOfNothingIsNone", []edit{storageLimit("0"), diskUse("1Gi", "0", "0"), whole("0")}, SingleFs, "", ""},
		{"ContainerLimitOfNothingBesideAnInitContainer", []edit{storageLimit("0"), initLimit, diskUse("2Gi", "0", "0")}, SingleFs, "", ""},
		{"InitContainersHaveNoLimitOfTheirOwn", []edit{initLimit, diskUse("9Gi", "0", "0"), whole("0"), usedBy("init")}, SingleFs, "", ""},
		{"SidecarAboveLimit", []edit{sidecarLimit, diskUse("3Gi", "1", "0"), whole("0"), usedBy("sidecar")}, SingleFs, ContainerLimit, `Container sidecar exceeded its local ephemeral storage limit "3Gi". `},
		{"SidecarExactlyAtLimit", []edit{sidecarLimit, diskUse("3Gi", "0", "0"), whole("0"), usedBy("sidecar")}, SingleFs, "", ""},
		{"SidecarLimitIsNotTheContainers", []edit{sidecarLimit, diskUse("9Gi", "0", "0"), whole("0")}, SingleFs, "", ""},
		{
			"UsageInAnotherOrder",
			[]edit{storageLimit("1Gi"), diskUse("2Gi", "0", "0"), whole("0"), func(p *Pod) {
				p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "second"})
				p.Usage.Containers = append([]ContainerUsage{{Name: "second"}}, p.Usage.Containers...)
			}},
			SingleFs, ContainerLimit, `Container main exceeded its local ephemeral storage limit "1Gi". `,
		},
		{"NegativeLogsAreNothing", []edit{storageLimit("1Gi"), diskUse("1025Mi", "-1Gi", "0"), whole("0")}, SingleFs, ContainerLimit, `Container main exceeded its local ephemeral storage limit "1Gi". `},
		{"VolumeAboveLimit", []edit{diskUse("0", "0", "2Gi"), sized("1Gi", "")}, SingleFs, EmptyDirLimit, `Usage of EmptyDir volume "local" exceeds the limit "1Gi". `},
		{"VolumeInMemory", []edit{diskUse("0", "0", "2Gi"), sized("1Gi", v1.StorageMediumMemory)}, SingleFs, EmptyDirLimit, `Usage of EmptyDir volume "local" exceeds the limit "1Gi". `},
		{"VolumeExactlyAtLimit", []edit{diskUse("0", "0", "1Gi"), sized("1Gi", "")}, SingleFs, "", ""},
		{"VolumeLimitOfNothingIsNone", []edit{diskUse("0", "0", "1Gi"), sized("0", "")}, SingleFs, "", ""},
		{"VolumeWithoutMeasuredSize", []edit{diskUse("0", "0", "2Gi"), sized("1Gi", ""), func(p *Pod) { p.Usage.Volumes = nil }}, SingleFs, "", ""},
		{"VolumeBeforePodBeforeContainer", []edit{storageLimit("1Gi"), diskUse("2Gi", "0", "2Gi"), sized("1Gi", "")}, SingleFs, EmptyDirLimit, `Usage of EmptyDir volume "local" exceeds the limit "1Gi". `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := Config{LocalStorageLimits: true, Layout: tc.layout}
			pod := build("pod", mid, tc.edits...)
			d := newNode(t, config).machine.Observe(Stats{Pods: []Pod{pod}})
			if tc.cause == "" {
				require.Equal(t, Nothing, d.Action)
				require.Empty(t, d.Evictions)
				return
			}
			require.Equal(t, EvictPods, d.Action)
			require.Equal(t, []Eviction{{Pod: pod.Pod, Cause: tc.cause, Hard: true, GracePeriodSeconds: 1, Message: tc.message}}, d.Evictions)
			config.LocalStorageLimits = false
			require.Equal(t, Nothing, newNode(t, config).machine.Observe(Stats{Pods: []Pod{pod}}).Action)
		})
	}
}

// TestLimitsComeFirst: pods above their limits are evicted all at once, in the given order, instead of the pod that a
// shortage would evict. Protected ones stay.
func TestLimitsComeFirst(t *testing.T) {
	config := thresholds(hardly(MemoryAvailable, "1Gi"))
	config.LocalStorageLimits = true
	n := newNode(t, config,
		build("greedy", low, memoryUse("9Gi")),
		build("second", high, diskUse("0", "0", "2Gi"), sized("1Gi", "")),
		build("critical", 2_000_000_000, diskUse("0", "0", "2Gi"), sized("1Gi", "")),
		build("first", high, storageLimit("1Gi"), diskUse("2Gi", "0", "0")),
	)
	d := n.observe(MemoryAvailable, "0")
	require.Equal(t, EvictPods, d.Action)
	require.Equal(t, []string{"second", "first"}, evicted(d.Evictions))
	require.Empty(t, d.Threshold.Signal)
	require.Empty(t, d.Event())
	require.Len(t, d.Met, 1, "the shortage is seen all the same")
	require.Equal(t, []v1.NodeConditionType{v1.NodeMemoryPressure}, d.Conditions)

	n.pods = n.pods[:1]
	require.Equal(t, []string{"greedy"}, evicted(n.observe(MemoryAvailable, "0").Evictions))
}
