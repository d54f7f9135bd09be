package nodepressure_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

func TestSignalsTellConditionAndResource(t *testing.T) {
	rows := []struct {
		signal    Signal
		condition v1.NodeConditionType
		resource  v1.ResourceName
	}{
		{MemoryAvailable, v1.NodeMemoryPressure, v1.ResourceMemory},
		{AllocatableMemoryAvailable, v1.NodeMemoryPressure, v1.ResourceMemory},
		{NodeFsAvailable, v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
		{NodeFsInodesFree, v1.NodeDiskPressure, ResourceInodes},
		{ImageFsAvailable, v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
		{ImageFsInodesFree, v1.NodeDiskPressure, ResourceInodes},
		{ContainerFsAvailable, v1.NodeDiskPressure, v1.ResourceEphemeralStorage},
		{ContainerFsInodesFree, v1.NodeDiskPressure, ResourceInodes},
		{PIDAvailable, v1.NodePIDPressure, ResourcePIDs},
	}
	require.Len(t, Signals(), len(rows))
	for i, row := range rows {
		require.Equal(t, row.signal, Signals()[i])
		require.True(t, row.signal.Valid())
		require.Equal(t, row.condition, row.signal.Condition())
		require.Equal(t, row.resource, row.signal.Resource())
	}
	require.False(t, Signal("mem.available").Valid())
	require.Empty(t, Signal("mem.available").Condition())
	require.Empty(t, Signal("mem.available").Resource())
}

// TestDeriveContainerFs: the thresholds of the container file system are those of the file system it is on. Given ones
// are overridden, with a warning for each.
func TestDeriveContainerFs(t *testing.T) {
	node := []Threshold{reclaiming(hardly(NodeFsAvailable, "1Gi"), "100Mi"), softly(NodeFsAvailable, "2Gi", time.Minute), hardly(NodeFsInodesFree, "100"), softly(NodeFsInodesFree, "200", time.Minute)}
	image := []Threshold{reclaiming(hardly(ImageFsAvailable, "3Gi"), "300Mi"), softly(ImageFsAvailable, "4Gi", time.Minute), hardly(ImageFsInodesFree, "300"), softly(ImageFsInodesFree, "400", time.Minute)}
	given := []Threshold{hardly(ContainerFsAvailable, "5Gi"), softly(ContainerFsAvailable, "6Gi", time.Minute), hardly(ContainerFsInodesFree, "500"), softly(ContainerFsInodesFree, "600", time.Minute)}
	fromNode := []string{"containerfs.available < 1Gi", "containerfs.inodesFree < 100", "containerfs.available < 2Gi for 1m0s", "containerfs.inodesFree < 200 for 1m0s"}
	fromImage := []string{"containerfs.available < 3Gi", "containerfs.inodesFree < 300", "containerfs.available < 4Gi for 1m0s", "containerfs.inodesFree < 400 for 1m0s"}
	for _, tc := range []struct {
		name   string
		layout Layout
		want   []string
	}{{"SingleFs", SingleFs, fromNode}, {"DedicatedImageFs", DedicatedImageFs, fromImage}, {"SplitImageFs", SplitImageFs, fromNode}} {
		t.Run(tc.name, func(t *testing.T) {
			for _, overridden := range [][]Threshold{nil, given} {
				input := append(append(append([]Threshold{}, overridden...), image...), node...)
				before := input[0]
				derived, err := DeriveContainerFs(input, tc.layout)
				require.Equal(t, before, input[0])
				require.Len(t, derived, 12)
				var got []string
				for _, threshold := range derived {
					if threshold.Signal == ContainerFsAvailable || threshold.Signal == ContainerFsInodesFree {
						got = append(got, threshold.String())
					}
					if threshold.String() == tc.want[0] {
						require.False(t, threshold.MinReclaim.IsZero(), "the minimum reclaim comes along")
					}
				}
				require.Equal(t, tc.want, got)
				if overridden == nil {
					require.NoError(t, err)
					continue
				}
				for _, threshold := range given {
					require.ErrorContains(t, err, threshold.String()+" is overridden by that of ")
				}
			}
		})
	}
	derived, err := DeriveContainerFs(given, SingleFs)
	require.Error(t, err)
	require.Empty(t, derived, "nothing to derive from: none, and not those that were given")
	derived, err = DeriveContainerFs([]Threshold{hardly(NodeFsAvailable, "1Gi"), hardly(NodeFsAvailable, "2Gi")}, SingleFs)
	require.NoError(t, err)
	require.Len(t, derived, 4, "all of them are derived")
	var many []Threshold
	for i := range 30 {
		many = append(many, percent(PIDAvailable, float32(i+1)/100), percent(MemoryAvailable, float32(i+1)/100))
	}
	derived, err = DeriveContainerFs(many, SingleFs)
	require.NoError(t, err)
	for i := range 30 {
		require.Equal(t, []Threshold{many[2*i+1], many[2*i]}, []Threshold{derived[i], derived[30+i]}, "those of a signal keep their order")
	}
	derived, err = DeriveContainerFs([]Threshold{hardly(MemoryAvailable, "1Gi")}, DedicatedImageFs)
	require.NoError(t, err)
	require.Len(t, derived, 1)
}

func TestLayoutsAreWrittenByName(t *testing.T) {
	for _, layout := range []Layout{SingleFs, DedicatedImageFs, SplitImageFs} {
		text, err := json.Marshal(layout)
		require.NoError(t, err)
		require.Equal(t, `"`+layout.String()+`"`, string(text))
		var again Layout
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, layout, again)
	}
	layout := SplitImageFs
	require.Error(t, layout.UnmarshalText([]byte("singlefs")))
	require.Equal(t, SplitImageFs, layout)
}

func TestNamesOfConstants(t *testing.T) {
	require.Equal(t, "Nothing ReclaimNode EvictPods Stuck Action(4)", join(Nothing, ReclaimNode, EvictPods, Stuck, Action(4)))
	require.Equal(t, "DeadContainers UnusedImages Reclaim(0)", join(DeadContainers, UnusedImages, Reclaim(0)))
	require.Equal(t, "Evictable StaticPod MirrorPod CriticalPod Protection(9)", join(Evictable, StaticPod, MirrorPod, CriticalPod, Protection(9)))
}

func TestMemorySample(t *testing.T) {
	sample := MemorySample(bytesOf("3Gi"), bytesOf("1Gi"), epoch)
	require.Equal(t, bytesOf("4Gi"), sample.Capacity)
	require.EqualValues(t, math.MaxInt64, MemorySample(math.MaxInt64, 1, epoch).Capacity)
	require.EqualValues(t, math.MinInt64, MemorySample(math.MinInt64, -1, epoch).Capacity)
	require.EqualValues(t, 2, MemorySample(3, -1, epoch).Capacity)
}
