package cgroup

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// TestDisks: each file system is measured at its directory, as the kernel reports it.
func TestDisks(t *testing.T) {
	n := node(t, files{})
	n.NodeFs = n.Dir
	signals, err := n.Signals()
	require.NoError(t, err)
	var want syscall.Statfs_t
	require.NoError(t, syscall.Statfs(n.Dir, &want))
	for _, signal := range []nodepressure.Signal{nodepressure.NodeFsAvailable, nodepressure.ImageFsAvailable, nodepressure.ContainerFsAvailable} {
		sample, ok := signals[signal]
		require.True(t, ok, signal)
		require.Equal(t, int64(want.Blocks)*want.Frsize, sample.Capacity)
		require.Positive(t, sample.Available)
		require.Less(t, sample.Available, sample.Capacity)
	}
	if want.Files > 0 {
		require.Equal(t, int64(want.Files), signals[nodepressure.NodeFsInodesFree].Capacity)
	}
	layout, err := n.Layout()
	require.NoError(t, err)
	require.Equal(t, nodepressure.SingleFs, layout)
}

// TestEachFileSystemIsMeasured: that of writable layers, too, if it is not that of the images.
func TestEachFileSystemIsMeasured(t *testing.T) {
	n := node(t, files{})
	n.NodeFs, n.ImageFs, n.ContainerFs = n.Dir, "/proc", n.Dir
	signals, err := n.Signals()
	require.NoError(t, err)
	require.Zero(t, signals[nodepressure.ImageFsAvailable].Capacity)
	require.Equal(t, signals[nodepressure.NodeFsAvailable].Capacity, signals[nodepressure.ContainerFsAvailable].Capacity)
}

// A file system without inodes, such as /proc, has no sample of them.
func TestFileSystemWithoutInodes(t *testing.T) {
	n := node(t, files{})
	n.NodeFs = "/proc/self"
	signals, err := n.Signals()
	require.NoError(t, err)
	require.Contains(t, signals, nodepressure.NodeFsAvailable)
	require.NotContains(t, signals, nodepressure.NodeFsInodesFree)
}

// Without NodeFs no directory is taken for the kubelet's file system.
func TestNoDisksUnlessOneIsSaid(t *testing.T) {
	n := node(t, files{})
	n.ImageFs = n.Dir
	signals, err := n.Signals()
	require.NoError(t, err)
	require.Len(t, signals, 1)
	layout, err := n.Layout()
	require.NoError(t, err)
	require.Equal(t, nodepressure.SingleFs, layout)
}

func TestDiskThatIsNotThere(t *testing.T) {
	n := node(t, files{})
	n.NodeFs = filepath.Join(n.Dir, "nowhere")
	_, err := n.Signals()
	require.ErrorContains(t, err, "nowhere: no such file or directory")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = n.Layout()
	require.ErrorContains(t, err, "nowhere: no such file or directory")
}

// TestLayouts depend on the devices of the directories; /proc and /dev/shm or /sys are separate file systems.
func TestLayouts(t *testing.T) {
	here, proc, sys := t.TempDir(), "/proc", "/sys"
	for _, tc := range []struct {
		node Node
		want nodepressure.Layout
	}{
		{Node{NodeFs: here, ImageFs: here}, nodepressure.SingleFs},
		{Node{NodeFs: here, ImageFs: proc}, nodepressure.DedicatedImageFs},
		{Node{NodeFs: here, ImageFs: proc, ContainerFs: proc}, nodepressure.DedicatedImageFs},
		{Node{NodeFs: here, ImageFs: proc, ContainerFs: here}, nodepressure.SplitImageFs},
	} {
		layout, err := tc.node.Layout()
		require.NoError(t, err)
		require.Equal(t, tc.want, layout)
	}
	for _, n := range []Node{{NodeFs: here, ImageFs: proc, ContainerFs: sys}, {NodeFs: here, ContainerFs: proc}} {
		_, err := n.Layout()
		require.ErrorContains(t, err, "is on the file system neither of")
	}
}

func TestTimesSaturates(t *testing.T) {
	require.Equal(t, int64(12), times(3, 4))
	require.Equal(t, int64(0), times(3, 0))
	require.Equal(t, int64(math.MaxInt64), times(math.MaxUint64, 1))
	require.Equal(t, int64(math.MaxInt64), times(1<<62, 4096))
}

// TestStats: a Node is a StatsProvider for a Manager.
func TestStats(t *testing.T) {
	var provider nodepressure.StatsProvider = node(t, files{}.uses("a", 600, 100))
	stats, err := provider.Stats(context.Background())
	require.NoError(t, err)
	require.Len(t, stats.Signals, 1)
	require.Len(t, stats.Pods, 1)
	require.Zero(t, stats.Signals[nodepressure.MemoryAvailable].Time, "it is fresh")

	over := errors.New("over")
	ctx, end := context.WithCancelCause(context.Background())
	end(over)
	_, err = provider.Stats(ctx)
	require.ErrorIs(t, err, over)
	_, err = node(t, files{"cgroup/a/pids.current": "x"}.uses("a", 1, 0)).Stats(context.Background())
	require.ErrorContains(t, err, "pids.current")
	_, err = Node{Dir: filepath.Join(t.TempDir(), "nowhere")}.Stats(context.Background())
	require.ErrorContains(t, err, "nowhere")
}
