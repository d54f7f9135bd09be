package cgroup

import "syscall"

// errRemoved is what reading a file of a removed cgroup fails with.
const errRemoved = syscall.ENODEV
