package pressure

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/cadvisor/lib/container"
	"github.com/google/cadvisor/lib/container/libcontainer"
	"github.com/google/cadvisor/lib/fs/vfs"
	cadvisorapi "github.com/google/cadvisor/lib/model"
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs2"
	v1 "k8s.io/api/core/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	served "k8s.io/kubernetes/pkg/kubelet/server/stats"
	kubeletstats "k8s.io/kubernetes/pkg/kubelet/stats"

	"github.com/evictkit/evictkit/evictor/nodepressure/cgroup"
)

// allPods is the cgroup of all pods, as the kubelet names it.
const allPods = "/kubepods"

// measurer is what the kubelet's provider of summaries measures a node with: its own provider of statistics, on the
// files that a cgroup.Node reads. It has no pods.
type measurer struct {
	served.Provider // nil: a summary without pods asks for nothing else
	own             *kubeletstats.Provider
	node            *v1.Node
}

// measured returns the kubelet's summary of a node. Process IDs are those of this machine, because no kubelet reads
// them elsewhere. The huge pages are those that the Node object has, in kB.
func measured(ctx context.Context, files cgroup.Node, hugePages uint64) (*statsapi.Summary, error) {
	own := kubeletstats.NewCRIStatsProvider(machine{files: files}, nil, nil, nil, containerRuntime{files: files}, nil, false, false, nil)
	node := &v1.Node{}
	node.Status.Capacity = cadvisor.CapacityFromMachineInfo(&cadvisorapi.MachineInfo{HugePages: []cadvisorapi.HugePagesInfo{{PageSize: hugePages, NumPages: 1}}})
	return served.NewSummaryProvider(ctx, measurer{own: own, node: node}).Get(ctx, false)
}

// GetNode and what follows is all that a summary needs.
func (m measurer) GetNode(context.Context) (*v1.Node, error) { return m.node, nil }

// GetNodeConfig names no system containers.
func (m measurer) GetNodeConfig() cm.NodeConfig { return cm.NodeConfig{} }

// GetPodCgroupRoot names the cgroup of all pods.
func (m measurer) GetPodCgroupRoot() string { return allPods }

// GetCgroupStats is the kubelet's.
func (m measurer) GetCgroupStats(ctx context.Context, name string, update bool) (*statsapi.ContainerStats, *statsapi.NetworkStats, error) {
	return m.own.GetCgroupStats(ctx, name, update)
}

// RootFsStats is the kubelet's.
func (m measurer) RootFsStats() (*statsapi.FsStats, error) { return m.own.RootFsStats() }

// ImageFsStats is the kubelet's.
func (m measurer) ImageFsStats(ctx context.Context) (images, containers *statsapi.FsStats, err error) {
	return m.own.ImageFsStats(ctx)
}

// RlimitStats is the kubelet's.
func (m measurer) RlimitStats() (*statsapi.RlimitStats, error) { return m.own.RlimitStats() }

// ListPodStats has no pods.
func (m measurer) ListPodStats(context.Context) ([]statsapi.PodStats, error) { return nil, nil }

// machine stands for cAdvisor, which reads only the machine that it runs on. It measures a cgroup with cAdvisor's code,
// and takes the limit of the root cgroup and of others from where cAdvisor does.
type machine struct {
	cadvisor.Interface // nil
	files              cgroup.Node
}

// ContainerInfoV2 measures a cgroup.
func (m machine) ContainerInfoV2(name string, _ cadvisorapi.RequestOptions) (map[string]cadvisorapi.ContainerInfo, error) {
	dir, limit := m.files.Dir, uint64(0)
	var err error
	if name == "/" {
		limit, err = machineMemory(filepath.Join(m.files.Proc, "meminfo"))
	} else {
		dir = filepath.Join(dir, name)
		limit, err = memoryMax(dir)
	}
	if err != nil {
		return nil, err
	}
	manager, err := fs2.NewManager(&cgroups.Cgroup{Resources: &cgroups.Resources{}}, dir)
	if err != nil {
		return nil, err
	}
	stats, err := libcontainer.NewHandler(memoryOnly{manager}, "", 0, container.MetricSet{}).GetStats()
	if err != nil {
		return nil, err
	}
	spec := cadvisorapi.ContainerSpec{HasMemory: true, Memory: cadvisorapi.MemorySpec{Limit: limit}}
	return map[string]cadvisorapi.ContainerInfo{name: {Spec: spec, Stats: []*cadvisorapi.ContainerStats{stats}}}, nil
}

// RootFsInfo measures the kubelet's file system.
func (m machine) RootFsInfo() (cadvisorapi.FsInfo, error) { return m.GetDirFsInfo(m.files.NodeFs) }

// GetDirFsInfo measures the file system of a directory.
func (m machine) GetDirFsInfo(dir string) (cadvisorapi.FsInfo, error) {
	total, free, available, inodes, inodesFree, err := vfs.GetVfsStats(dir)
	return cadvisorapi.FsInfo{Capacity: total, Usage: total - free, Available: available, Inodes: &inodes, InodesFree: &inodesFree}, err
}

// memoryOnly measures nothing but memory. The root cgroup has no memory.current; what takes its place upstream is only
// computed at /sys/fs/cgroup.
type memoryOnly struct{ *fs2.Manager }

// GetStats returns the statistics of memory.
func (m memoryOnly) GetStats() (*cgroups.Stats, error) {
	stats, err := m.Stats(&cgroups.StatsOptions{Controllers: cgroups.Memory})
	if err == nil && stats.MemoryStats.Usage.Usage == 0 {
		stats.MemoryStats.Usage.Usage = stats.MemoryStats.Stats["anon"] + stats.MemoryStats.Stats["file"]
	}
	return stats, err
}

func machineMemory(meminfo string) (uint64, error) {
	text, err := os.ReadFile(meminfo)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64) // MemTotal is the first
	return n * 1024, err
}

func memoryMax(dir string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "memory.max"))
	if err != nil {
		return 0, err
	}
	if s := strings.TrimSpace(string(text)); s != "max" {
		return strconv.ParseUint(s, 10, 64)
	}
	return 1<<64 - 1, nil
}

// containerRuntime says where images and writable layers are.
type containerRuntime struct {
	internalapi.ImageManagerService // nil
	files                           cgroup.Node
}

// ImageFsInfo returns both file systems.
func (c containerRuntime) ImageFsInfo(context.Context) (*runtimeapi.ImageFsInfoResponse, error) {
	at := func(dir string) []*runtimeapi.FilesystemUsage {
		return []*runtimeapi.FilesystemUsage{{FsId: &runtimeapi.FilesystemIdentifier{Mountpoint: dir}, UsedBytes: &runtimeapi.UInt64Value{}}}
	}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: at(c.files.ImageFs), ContainerFilesystems: at(c.files.ContainerFs)}, nil
}
