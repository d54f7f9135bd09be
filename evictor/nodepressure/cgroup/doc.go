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
// A Node measures memory as the kubelet does. Used is memory.current without the inactive_file of memory.stat, which
// the kernel could drop at once. The capacity is memory.max, or the machine's memory if that is less or there is no
// maximum. The root cgroup has no memory.current; there, anon plus file of its memory.stat take its place or, without a
// memory.stat, /proc/meminfo. What the machine reserves as huge pages is not available. For process IDs, the limit of
// the machine is the smaller of pid_max and threads-max, and its tasks are in /proc/loadavg; a cgroup below the root
// also has pids.current and pids.max. The one with less left counts. A Node measures a file system if it names a
// directory on it.
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
