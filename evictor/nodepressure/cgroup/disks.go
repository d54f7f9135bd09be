package cgroup

import (
	"fmt"
	"math"

	"github.com/evictkit/evictkit/evictor/nodepressure"
)

// fileSystem is a directory and the signals of the file system that it is on.
type fileSystem struct {
	dir           string
	space, inodes nodepressure.Signal
}

// disks are the file systems to measure, those that are not said to be elsewhere with what they are on.
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

// fileSystems adds the samples of the file systems: of what processes without privileges may use. One that does not count inodes, as
// btrfs, has none of them.
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

// size is what a file system says of itself, in blocks of so many bytes.
type size struct {
	block, blocks, available uint64
	inodes, inodesFree       uint64
}

// times saturates where the product has no int64.
func times(a, b uint64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return int64(a * b)
}

// Layout says which of the file systems are one, for nodepressure.Config. Without NodeFs it is SingleFs. It is an error when
// writable layers are neither where images are nor where the kubelet is, of which a kubelet knows nothing.
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
