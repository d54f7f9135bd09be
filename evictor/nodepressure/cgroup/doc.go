// Package cgroup measures the machine it runs on from the files of a cgroup v2 directory, for package nodepressure, and
// notifies a manager when the kernel signals that tasks wait for memory.
//
// A cgroup is a group of processes that Linux counts and limits together. It is a directory whose files say what the
// group uses. The root cgroup, usually at /sys/fs/cgroup, is the whole machine. A kubelet keeps each pod in a cgroup.
//
//	node := cgroup.Node{Dir: "/sys/fs/cgroup", NodeFs: "/var/lib/kubelet"}
//	clients := nodepressure.Clients{StatsProvider: node, Killer: killer}
//	manager, err := nodepressure.NewManager(machine, clients, config)
//	…
//	notifier, err := cgroup.NewNotifier(node, cgroup.NotifierConfig{})
//	if err == nil { // else the manager only looks every MonitoringPeriod, and err says why
//		go notifier.Run(ctx, manager.Notify)
//	}
//	err = manager.Run(ctx)
//
// # What is measured
//
// A kubelet, and so package summary, takes what the middle column says. A Node takes what the right one says. A test
// compares both on the same files.
//
//	signal                       a kubelet                              a Node
//	memory.available             MemTotal - huge pages - used, of the   the same; below the root, memory.max
//	                             root cgroup, at least 0; the huge      - used if memory.max is less than
//	                             pages are those in its Node object     MemTotal - huge pages
//	allocatableMemory.available  memory.max - used, of the cgroup of    the same
//	                             all pods; no sample without a limit
//	nodefs.available,            the file system of its root            that of NodeFs
//	nodefs.inodesFree            directory
//	imagefs.available,           the runtime's first file system of     that of ImageFs
//	imagefs.inodesFree           images
//	containerfs.available,       with CRI-O the runtime's first of      that of ContainerFs
//	containerfs.inodesFree       writable layers, else imagefs
//	pid.available                the smaller of pid_max and             the same; below the root, pids.max -
//	                             threads-max - the tasks in loadavg     pids.current if that is less
//
// Used is memory.current without the inactive_file of memory.stat, which the kernel could drop at once. The root cgroup
// has no memory.current; there, anon plus file of its memory.stat take its place or, without a memory.stat, a Node
// takes /proc/meminfo. No cgroup counts huge pages as used, so allocatableMemory.available has them as available.
//
// What one of them does not see:
//
//   - memory.available: summary does not see the limit of a cgroup that the kubelet itself is in, nor huge pages that
//     were reserved after it started.
//   - allocatableMemory.available: cgroup sees no pods outside kubepods and kubepods.slice in Dir, where a kubelet with
//     another root cgroup keeps them.
//   - nodefs: cgroup sees only the file system of the directory you name, and does not know the kubelet's own.
//   - imagefs: summary does not see a runtime's second file system of images, and cgroup does not know the runtime's.
//   - containerfs: summary does not see a file system of writable layers alone, except with CRI-O.
//   - pid.available: summary does not see the limit of a cgroup, and cgroup does not see the machine's tasks if Proc
//     has no loadavg.
//
// Pods are the cgroups that a kubelet makes for them, under kubepods or kubepods.slice. If there is neither, every
// cgroup right below the directory counts as a pod. A pod's memory request is its memory.min or, if that is 0 and the
// pod is Guaranteed, its memory.max. The cgroup of a QoS class tells the pod's class, and the name of the directory is
// the pod's name. A Node does not measure what pods use of file systems, so for those the ranking is by priority.
//
// # What the kernel signals
//
// A Notifier uses what the machine offers: a trigger on pressure-stall information, which fires when tasks have waited
// for memory too long (Linux 4.20, with CONFIG_PSI and not psi=0; without privileges since 6.5), or else inotify on
// memory.events, where the kernel counts how often a cgroup exceeded its limits. A kubelet gets no notifications on
// cgroup v2.
//
// The package compiles everywhere. Systems other than Linux have no cgroups: the files are missing there, and anything
// else that needs the kernel returns an error that wraps errors.ErrUnsupported.
package cgroup
