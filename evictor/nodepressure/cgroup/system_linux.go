package cgroup

import (
	"syscall"
)

// errRemoved is the error of reading a file of a removed cgroup.
const errRemoved = syscall.ENODEV

func statfs(dir string) (size, error) {
	var s syscall.Statfs_t
	for {
		if err := syscall.Statfs(dir, &s); err == syscall.EINTR {
			continue
		} else if err != nil {
			return size{}, err
		}
		return size{block: uint64(s.Frsize), blocks: s.Blocks, available: s.Bavail, inodes: s.Files, inodesFree: s.Ffree}, nil
	}
}

// device returns the number of the file system that a directory is on.
func device(dir string) (uint64, error) {
	var s syscall.Stat_t
	if err := syscall.Stat(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Dev), nil //nolint:unconvert // not a uint64 everywhere
}
