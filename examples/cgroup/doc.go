// Package cgroup measures a node by the files of a cgroup v2 directory, as a sample of a noderecord.
//
// Memory is measured as the kubelet measures it: the working set is memory.current without the inactive_file
// of memory.stat, the capacity memory.max, or the memory of the machine where that is less or there is no
// maximum. The root cgroup of a machine has no memory.current: then anon and file of its memory.stat stand for it, or
// /proc/meminfo where there is no memory.stat.
// Processes are those of pids.current, of which there may be pids.max, or the kernel's pid_max.
//
// Pods are the cgroups that a kubelet makes for them, under kubepods or kubepods.slice; where there is neither,
// every cgroup right below the directory stands for a pod. Their memory.min stands for their request, or
// where it is 0 the memory.max of Guaranteed pods, the cgroup of their class for the class, and their names are those
// of the directories.
package cgroup
