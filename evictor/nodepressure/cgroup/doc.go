// Package cgroup measures the machine that it runs on, by the files of a cgroup v2 directory, for package
// nodepressure, and wakes whoever looks at it when the kernel says that tasks wait for memory.
//
// A cgroup is a group of processes that Linux counts and limits together; it is a directory, and what it uses stands
// in its files. The root cgroup, mostly at /sys/fs/cgroup, is the whole machine. A kubelet keeps each pod in one.
//
//	node := cgroup.Node{Dir: "/sys/fs/cgroup", NodeFs: "/var/lib/kubelet"}
//	clients := nodepressure.Clients{StatsProvider: node, Killer: killer}
//	manager, err := nodepressure.NewManager(machine, clients, config)
//	…
//	notifier, err := cgroup.NewNotifier(node, cgroup.NotifierConfig{})
//	if err == nil { // else the manager looks every MonitoringPeriod, and err says why not sooner
//		go notifier.Run(ctx, manager.Notify)
//	}
//	err = manager.Run(ctx)
//
// # What is measured
//
// Memory is measured as the kubelet measures it: what counts as used is memory.current without the inactive_file of
// memory.stat, which the kernel could drop at once; the capacity is memory.max, or the memory of the machine where
// that is less or there is no maximum. The root cgroup has no memory.current: then anon and file of its memory.stat
// stand for it, or /proc/meminfo where there is no memory.stat. Process numbers are those of pids.current, of which
// there may be pids.max, or the kernel's pid_max. File systems are measured where the Node says a directory on them.
//
// Pods are the cgroups that a kubelet makes for them, under kubepods or kubepods.slice; where there is neither, every
// cgroup right below the directory stands for a pod. Their memory.min stands for their request, or where it is 0 the
// memory.max of Guaranteed pods, the cgroup of their class for the class, and their names are those of the
// directories. What they use of file systems is not measured, so that for those they are ranked by their priority.
//
// # What the kernel notifies of
//
// A Notifier uses what the machine offers: a trigger on pressure-stall information, which fires when tasks have waited
// for memory too long (Linux 4.20, with CONFIG_PSI and not psi=0; without privileges since 6.5), or else inotify on
// memory.events, where the kernel counts how often a cgroup went over its limits. A kubelet has no notification on
// cgroup v2.
//
// The package compiles everywhere. On other systems than Linux there are no cgroups: what it would read is not there,
// and what it would ask of the kernel is an error that wraps errors.ErrUnsupported.
package cgroup
