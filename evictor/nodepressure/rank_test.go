package nodepressure_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

func rootfsOnly(text string) edit { return diskUse(text, "0", "0") }

// copiesOfMain adds containers that request what the first one does.
func copiesOfMain(n int) edit {
	return func(p *Pod) {
		for range n {
			p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		}
	}
}

func storage(request string) edit { return requests("ephemeral-storage", request) }

// priorityDisk and priorityMemory are upstream's, worst first.
var (
	priorityMemory = []Pod{
		build("above-low-high", low, memoryUse("500Mi")),
		build("above-low-low", low, memoryUse("50Mi")),
		build("above-high-high", high, requests("memory", "100Mi"), memoryUse("600Mi")),
		build("above-high-low", high, requests("memory", "100Mi"), memoryUse("150Mi")),
		build("below-low-high", low, requests("memory", "1Gi"), memoryUse("800Mi")),
		build("below-low-low", low, requests("memory", "1Gi"), memoryUse("200Mi")),
		build("below-high-high", high, requests("memory", "1Gi"), memoryUse("800Mi")),
		build("below-high-low", high, requests("memory", "1Gi"), memoryUse("200Mi")),
	}
	priorityDisk = []Pod{
		build("above-low-high", low, diskUse("200Mi", "100Mi", "200Mi")),
		build("above-low-low", low, diskUse("10Mi", "10Mi", "30Mi")),
		build("above-high-high", high, storage("100Mi"), diskUse("200Mi", "150Mi", "250Mi")),
		build("above-high-low", high, storage("100Mi"), diskUse("90Mi", "50Mi", "10Mi")),
		build("below-low-high", low, storage("1Gi"), diskUse("500Mi", "200Mi", "100Mi")),
		build("below-low-low", low, storage("1Gi"), diskUse("50Mi", "100Mi", "50Mi")),
		build("below-high-high", high, storage("1Gi"), diskUse("250Mi", "500Mi", "50Mi")),
		build("below-high-low", high, storage("1Gi"), diskUse("100Mi", "60Mi", "40Mi")),
	}
)

// TestRanking: upstream's tables. The pods are in the order of eviction, and are given in reverse.
func TestRanking(t *testing.T) {
	for _, tc := range []struct {
		name   string
		signal Signal
		pods   []Pod
	}{
		{"MemoryExceeds", MemoryAvailable, []Pod{
			build("exceeds-requests", high, requests("memory", "100Mi"), memoryUse("101Mi")),
			build("below-requests", low, requests("memory", "200Mi"), memoryUse("199Mi")),
		}},
		{"MemoryExactlyIsNotExceeded", MemoryAvailable, []Pod{
			build("exceeds", high, requests("memory", "100Mi"), memoryUse("104857601")),
			build("exactly", low, requests("memory", "100Mi"), memoryUse("100Mi")),
		}},
		{"MemoryExceedsByAFraction", MemoryAvailable, []Pod{
			build("exceeds", high, requests("memory", "0.1Gi"), memoryUse("107374183")),
			build("below", low, requests("memory", "0.1Gi"), memoryUse("107374182")),
		}},
		{"MemoryDifference", MemoryAvailable, []Pod{
			build("burstable-high", mid, requests("memory", "100Mi"), memoryUse("800Mi")),
			build("best-effort-high", mid, memoryUse("500Mi")),
			build("best-effort-low", mid, memoryUse("300Mi")),
			build("burstable-low", mid, requests("memory", "100Mi"), memoryUse("300Mi")),
			build("guaranteed-high", mid, guaranteed("1Gi"), memoryUse("800Mi")),
			build("guaranteed-low", mid, guaranteed("1Gi"), memoryUse("200Mi")),
		}},
		{"MemoryPriority", MemoryAvailable, priorityMemory},
		{"AllocatableMemory", AllocatableMemoryAvailable, priorityMemory},
		{"MemoryRequestsBeyondInt64", MemoryAvailable, []Pod{
			build("c-8Ei", mid, requests("memory", "4Ei"), copiesOfMain(1), memoryUse("2Gi")),
			build("b-12Ei", mid, requests("memory", "4Ei"), copiesOfMain(2), memoryUse("3Gi")),
			build("a-12Ei", mid, requests("memory", "4Ei"), copiesOfMain(2), memoryUse("2Gi")),
		}},
		{"DiskExceeds", NodeFsAvailable, []Pod{
			build("exceeds-requests", high, storage("100Mi"), diskUse("90Mi", "11Mi", "0")),
			build("below-requests", low, storage("200Mi"), diskUse("100Mi", "99Mi", "0")),
		}},
		{"DiskDifference", NodeFsAvailable, []Pod{
			build("best-effort-high", mid, diskUse("50Mi", "100Mi", "150Mi")),
			build("burstable-high", mid, storage("100Mi"), diskUse("150Mi", "150Mi", "50Mi")),
			build("best-effort-low", mid, diskUse("25Mi", "25Mi", "50Mi")),
			build("burstable-low", mid, storage("100Mi"), diskUse("25Mi", "35Mi", "50Mi")),
			build("guaranteed-high", mid, storage("400Mi"), diskUse("225Mi", "100Mi", "50Mi")),
			build("guaranteed-low", mid, storage("400Mi"), diskUse("25Mi", "45Mi", "50Mi")),
		}},
		{"DiskPriority", NodeFsAvailable, priorityDisk},
		{"ImageDiskPriority", ImageFsAvailable, priorityDisk},
		{"ContainerDiskPriority", ContainerFsAvailable, priorityDisk},
		{"Inodes", NodeFsInodesFree, []Pod{
			build("high", mid, inodeUse(200_000, 150_000, 50_000)),
			build("medium", mid, inodeUse(100_000, 150_000, 50_000)),
			build("low", mid, inodeUse(50_000, 100_000, 50_000)),
		}},
		{"InodesPriority", ImageFsInodesFree, []Pod{
			build("low-high", low, inodeUse(50_000, 100_000, 250_000)),
			build("low-low", low, inodeUse(60_000, 30_000, 10_000)),
			build("high-high", high, inodeUse(150_000, 150_000, 50_000)),
			build("high-low", high, inodeUse(10_000, 40_000, 100_000)),
		}},
		{"NoInodesGoLast", NodeFsInodesFree, []Pod{build("some", high, inodeUse(1, 0, 0)), build("none", low, inodeUse(0, 0, 0))}},
		{"Priority", MemoryAvailable, []Pod{build("low", -134, memoryUse("1")), build("medium", 1, memoryUse("2")), build("high", 12534, memoryUse("3"))}},
		{"Processes", PIDAvailable, []Pod{
			build("low-high", low, processes(20)), build("low-low", low, processes(6)), build("high-high", high, processes(20)), build("high-low", high, processes(5)),
		}},
		{"ProcessesAreNoRequests", PIDAvailable, []Pod{build("none", low, processes(0)), build("many", mid, processes(1000))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want []string
			var reversed []Pod
			for i := range tc.pods {
				want = append(want, tc.pods[i].Name)
				reversed = append(reversed, tc.pods[len(tc.pods)-1-i])
			}
			require.Equal(t, want, names(Rank(reversed, tc.signal, SingleFs, nil)))
			require.Equal(t, want, names(Rank(tc.pods, tc.signal, SingleFs, ByUsage)))
			require.Equal(t, want[0], tc.pods[0].Name, "what is given does not move")
		})
	}
	require.Empty(t, Rank(nil, MemoryAvailable, SingleFs, nil))
}

// TestRankingCountsWhatIsOnTheFileSystem: which parts of a pod's usage count, by layout and signal.
func TestRankingCountsWhatIsOnTheFileSystem(t *testing.T) {
	const rootfs, logs, volumes = 1, 2, 4
	pod := build("pod", mid, inodeUse(rootfs, logs, volumes))
	u, c := usage(&pod)
	c.Rootfs.Bytes, c.Logs.Bytes, u.Volumes[0].Disk.Bytes = rootfs, logs, volumes
	for _, tc := range []struct {
		name                   string
		layout                 Layout
		node, image, container int64
	}{
		{"SingleFs", SingleFs, 7, 7, 7},
		{"DedicatedImageFs", DedicatedImageFs, logs + volumes, rootfs, rootfs},
		{"SplitImageFs", SplitImageFs, 7, 0, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, s := range []Signal{NodeFsAvailable, NodeFsInodesFree} {
				require.Equal(t, tc.node, pod.Uses(s, tc.layout))
			}
			for _, s := range []Signal{ImageFsAvailable, ImageFsInodesFree} {
				require.Equal(t, tc.image, pod.Uses(s, tc.layout))
			}
			for _, s := range []Signal{ContainerFsAvailable, ContainerFsInodesFree} {
				require.Equal(t, tc.container, pod.Uses(s, tc.layout))
			}
		})
	}
	require.Zero(t, pod.Uses("mem.available", SingleFs))
}

// TestLocalVolumesCount: volumes count that take space on the node.
func TestLocalVolumesCount(t *testing.T) {
	for _, tc := range []struct {
		name   string
		source v1.VolumeSource
		counts bool
	}{
		{"EmptyDir", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, true},
		{"EmptyDirInMemory", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}, false},
		{"HostPath", v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}, true},
		{"GitRepo", v1.VolumeSource{GitRepo: &v1.GitRepoVolumeSource{}}, true},
		{"ConfigMap", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, true},
		{"Secret", v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}, false},
		{"Claim", v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pod := build("pod", mid, diskUse("1", "2", "4"))
			pod.Spec.Volumes[0].VolumeSource = tc.source
			want := int64(3)
			if tc.counts {
				want = 7
			}
			require.Equal(t, want, pod.Uses(NodeFsAvailable, SingleFs))
		})
	}
}

// TestUnknownUsage: pods of unknown usage go first; for processes, only among pods of the same priority. A volume of
// unknown usage does not count, and negative usage is 0.
func TestUnknownUsage(t *testing.T) {
	known := build("known", low, memoryUse("10Gi"), processes(100))
	unknown := build("unknown", high, guaranteed("1Gi"))
	unknownLow := build("unknown-low", low, guaranteed("2Gi"))
	pods := []Pod{known, unknown, unknownLow}
	require.Equal(t, []string{"unknown-low", "unknown", "known"}, names(Rank(pods, MemoryAvailable, SingleFs, nil)))
	require.Equal(t, []string{"unknown-low", "known", "unknown"}, names(Rank(pods, PIDAvailable, SingleFs, nil)))
	require.Equal(t, []string{"known", "unknown", "unknown-low"}, names(Rank(pods, MemoryAvailable, SingleFs, ByQOS)))
	require.Equal(t, []string{"z", "a"}, names(Rank([]Pod{build("a", mid, memoryUse("1Gi")), build("z", mid)}, MemoryAvailable, SingleFs, ByQOS)))
	require.Zero(t, unknown.Uses(MemoryAvailable, SingleFs))

	// Among equals the name decides, even if one requests more.
	equal := []Pod{build("a", mid, guaranteed("2Gi")), build("b", mid, guaranteed("1Gi")), build("c", mid)}
	require.Equal(t, []string{"a", "b", "c"}, names(Rank(equal, MemoryAvailable, SingleFs, nil)))

	pod := build("volumes", mid, diskUse("1", "2", "4"))
	pod.Usage.Volumes = nil
	require.EqualValues(t, 3, pod.Uses(NodeFsAvailable, SingleFs))
	pod.Usage.Containers[0].Rootfs.Bytes = -8
	pod.Usage.Memory, pod.Usage.Processes = -1, -1
	require.EqualValues(t, 2, pod.Uses(NodeFsAvailable, SingleFs))
	require.Zero(t, pod.Uses(MemoryAvailable, SingleFs))
	require.Zero(t, pod.Uses(PIDAvailable, SingleFs))
	pod.Usage.Containers[0].Rootfs.Bytes = math.MaxInt64
	require.EqualValues(t, math.MaxInt64, pod.Uses(NodeFsAvailable, SingleFs), "sums saturate")
}

// TestInodesAreNotBytes: a request of storage says nothing about inodes.
func TestInodesAreNotBytes(t *testing.T) {
	pods := []Pod{
		build("many-and-a-request", mid, storage("1Gi"), inodeUse(500_000, 0, 0)),
		build("few-and-no-request", mid, inodeUse(10, 0, 0)),
	}
	ranked := Rank(pods, NodeFsInodesFree, SingleFs, nil)
	require.Equal(t, []string{"many-and-a-request", "few-and-no-request"}, names(ranked))
	require.Zero(t, ranked[0].Requested)
	require.Zero(t, Rank([]Pod{build("pod", mid, requests("inodes", "1k"))}, NodeFsInodesFree, SingleFs, nil)[0].Requested, "they cannot be requested")
	require.EqualValues(t, 500_000, ranked[0].Over())
}

func TestRankingTiesGoByName(t *testing.T) {
	other := build("a", mid)
	other.Namespace = "z"
	twin := build("a", mid)
	twin.UID = types.UID("uid-b")
	pods := []Pod{other, build("c", mid), twin, build("b", mid), build("a", mid)}
	ranked := Rank(pods, MemoryAvailable, SingleFs, nil)
	require.Equal(t, []string{"a", "a", "b", "c", "a"}, names(ranked))
	require.Equal(t, types.UID("uid-a"), ranked[0].Pod.UID)
	require.Equal(t, "z", ranked[4].Pod.Namespace)
}

// TestRankingByQOS is the ranking of Kubernetes 1.5: the class, then the difference to the request. Priority does not
// matter.
func TestRankingByQOS(t *testing.T) {
	want := []string{"best-effort-high", "best-effort-low", "burstable-over", "burstable-under", "guaranteed"}
	pods := []Pod{
		build("guaranteed", low, guaranteed("1Gi"), memoryUse("1Gi")),
		build("burstable-under", low, requests("memory", "2Gi"), memoryUse("1Gi")),
		build("burstable-over", mid, requests("memory", "1Gi"), memoryUse("3Gi")),
		build("best-effort-low", low, memoryUse("1Mi")),
		build("best-effort-high", high, memoryUse("2Mi")),
	}
	ranked := Rank(pods, MemoryAvailable, SingleFs, ByQOS)
	require.Equal(t, want, names(ranked))
	require.Equal(t, v1.PodQOSBestEffort, ranked[0].QOS)
	require.Equal(t, v1.PodQOSGuaranteed, ranked[4].QOS)

	config := thresholds(hardly(MemoryAvailable, "1Gi"))
	config.Ranking = ByQOS
	require.Equal(t, want[:1], evicted(newNode(t, config, pods...).observe(MemoryAvailable, "0").Evictions))
}

// TestOwnRanking: a custom ranking is used, and gets the resource that is short.
func TestOwnRanking(t *testing.T) {
	var asked v1.ResourceName
	ranking := RankingFunc(func(starved v1.ResourceName, a, b *Candidate) int {
		asked = starved
		return int(b.Priority - a.Priority)
	})
	pods := []Pod{build("low", low), build("high", high)}
	require.Equal(t, []string{"high", "low"}, names(Rank(pods, PIDAvailable, SingleFs, ranking)))
	require.Equal(t, ResourcePIDs, asked)
}

func TestCandidateTellsItsNumbers(t *testing.T) {
	pod := build("pod", high, requests("memory", "1Gi"), memoryUse("3Gi"))
	c := Rank([]Pod{pod}, MemoryAvailable, SingleFs, nil)[0]
	require.Equal(t, Candidate{Pod: pod, Priority: high, QOS: v1.PodQOSBurstable, Used: bytesOf("3Gi"), Requested: bytesOf("1Gi")}, c)
	require.True(t, c.Exceeds())
	require.Equal(t, bytesOf("2Gi"), c.Over())
}
