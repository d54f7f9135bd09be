package cgroup

import (
	"fmt"
	"math"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// fileSystem is a directory and the signals of the file system it is on.
type fileSystem struct {
	dir           string
	space, inodes nodepressure.Signal
}

// disks returns the file systems to measure. Those without a directory of their own share that of the previous one.
func (n Node) disks() []fileSystem {
	if n.NodeFs == "" {
		return nil
	}
	if n.ImageFs == "" {
		n.ImageFs = n.NodeFs
	}
	if n.ContainerFs == "" {
		n.ContainerFs = n.ImageFs
	}
	return []fileSystem{
		{n.NodeFs, nodepressure.NodeFsAvailable, nodepressure.NodeFsInodesFree},
		{n.ImageFs, nodepressure.ImageFsAvailable, nodepressure.ImageFsInodesFree},
		{n.ContainerFs, nodepressure.ContainerFsAvailable, nodepressure.ContainerFsInodesFree},
	}
}

// fileSystems adds the samples of the file systems. Available is what unprivileged processes may use. A file system
// that does not count inodes, such as btrfs, has no sample of them.
func (n Node) fileSystems(signals map[nodepressure.Signal]nodepressure.Sample) error {
	for _, disk := range n.disks() {
		size, err := statfs(disk.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", disk.dir, err)
		}
		signals[disk.space] = nodepressure.Sample{Available: times(size.available, size.block), Capacity: times(size.blocks, size.block)}
		if size.inodes > 0 {
			signals[disk.inodes] = nodepressure.Sample{Available: times(size.inodesFree, 1), Capacity: times(size.inodes, 1)}
		}
	}
	return nil
}

// size is what statfs says; block is the bytes in a block.
type size struct {
	block, blocks, available uint64
	inodes, inodesFree       uint64
}

// times multiplies. It saturates if the product does not fit an int64.
func times(a, b uint64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return int64(a * b)
}

// Layout says which of the directories share a file system, for nodepressure.Config. Without NodeFs it is SingleFs.
// Layout returns an error if writable layers share a file system with neither the images nor the kubelet, because a
// kubelet supports no such layout.
func (n Node) Layout() (nodepressure.Layout, error) {
	var devices []uint64
	for _, disk := range n.disks() {
		device, err := device(disk.dir)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", disk.dir, err)
		}
		devices = append(devices, device)
	}
	switch {
	case devices == nil || devices[1] == devices[0] && devices[2] == devices[0]:
		return nodepressure.SingleFs, nil
	case devices[2] == devices[1]:
		return nodepressure.DedicatedImageFs, nil
	case devices[2] == devices[0]:
		return nodepressure.SplitImageFs, nil
	}
	return 0, fmt.Errorf("%s is on the file system neither of %s nor of %s", n.ContainerFs, n.disks()[1].dir, n.NodeFs)
}
