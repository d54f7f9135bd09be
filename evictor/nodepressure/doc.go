// Package nodepressure decides what a node does when it runs short of memory, disk or process IDs: which conditions it
// reports, what it cleans up, which pod it evicts, and which pods it does not admit.
//
// # What it is about
//
// A Kubernetes node has an agent, the kubelet, that runs its pods. The pods share the node's resources. When memory
// runs out, the kernel kills a process; when a disk is full, writes fail. The kubelet acts before that. As soon as less
// than a threshold is left, it sets a condition in the node's status, such as MemoryPressure, so that no more pods
// come. It deletes what no pod needs. Then it evicts pods, one at a time, until enough is free again.
//
// This package is that part of the kubelet for other programs: another kind of agent, a simulation, or a tool that asks
// what a node would have done. A Machine takes one measurement of the node after the other and answers each with a
// decision. It measures nothing and kills nothing itself.
//
//	settings, err := nodepressure.ParseSettings(file) // a kubelet's configuration file
//	config, err := settings.Config()
//	machine, err := nodepressure.New(config)
//	…
//	decision := machine.Observe(stats) // every 10s, for example
//	for _, condition := range nodepressure.NodeConditions(decision.Conditions) {
//		… // into the node's status
//	}
//	if decision.Action == nodepressure.ReclaimNode {
//		… // clean up what decision.Reclaim lists, and measure again
//		decision = machine.AfterReclaim(decision, stats)
//	}
//	for _, eviction := range decision.Evictions { // none unless the Action is EvictPods
//		… // kill eviction.Pod within eviction.GracePeriodSeconds, with eviction.Message in its status
//	}
//	admission := machine.Admit(newcomer) // may this pod start here?
//
// A Manager is the whole loop: it measures, cleans up, kills and waits through interfaces that you implement. You can
// also use Admit, Rank and QOSClass alone.
//
// # How it decides
//
//	Stats ──▶ met? ──▶ since when? ──▶ due? ──▶ newly measured? ──▶ the first of them
//	           │                                                        │
//	           ▼                                                        ▼
//	     node conditions ──▶ Admit                      ReclaimNode, then EvictPods, or Stuck
//
// What the words mean:
//
//   - A Signal is something that a node can run short of: memory, space or inodes of each of its file systems, process
//     IDs. A Threshold is the amount below which the node is short of it.
//   - Met: less than the threshold is available. A threshold that was due stays met until its minimum reclaim is
//     available as well; meanwhile it is Rising.
//   - Due: met for its whole grace period. A threshold without a grace period is hard, others are soft.
//   - Conditions: a met threshold makes MemoryPressure, DiskPressure or PIDPressure True at once, and keeps it True for
//     a transition period after it was last met, so that conditions do not flap.
//   - The first: hard before soft, memory before the rest, then the order of Signals. A Machine does not act twice on
//     one measurement, because that does not show the effect of the last eviction yet.
//   - Reclaim: if the node is short of disk, dead containers and unused images go first. AfterReclaim says whether that
//     was enough.
//   - Evict: the ranking puts pods first that use more than they requested, and the first unprotected pod goes. Only
//     one goes at a time, because what it gives back may be enough. Pods that exceed their own limits of local storage
//     go before that, all at once, whether or not the node is short of anything.
//
// Amounts are int64: bytes, inodes, processes. Decision.Why says in words what was decided, and what led to it.
//
// # The Manager
//
// Run makes a pass every MonitoringPeriod and whenever Notify is called. Step does what is due now, for programs with
// their own loop. After an eviction the Manager waits until the pod has given back what it used, then passes again. A
// hard eviction replaces a soft one whose pod is still in its grace period. The Manager gives up and reports a Kill
// that has not returned in time (ten seconds, or one and a half times the grace period). It takes the result when that
// comes, and skips the pod until then. Meanwhile conditions and Admit follow the node. Only Run starts goroutines, and
// it waits for them.
//
// # What is measured, and by whom
//
// This package measures nothing. On a real node the kubelet measures, and package summary joins what its Summary API
// serves with the pods of the API. Any other source will do: Stats is a plain struct.
//
//	signal                       what is measured                                  by whom
//	memory.available             the machine's memory, less huge pages, less the   kubelet, every 10s or so
//	                             working set of the root cgroup; on Windows what
//	                             is left of the commit limit
//	allocatableMemory.available  the limit of the cgroup of all pods, less its     kubelet; no sample without
//	                             working set                                       a limit
//	nodefs.available,            the file system of the kubelet's root directory   kubelet
//	nodefs.inodesFree
//	imagefs.available,           the first file system of images                   container runtime names it,
//	imagefs.inodesFree                                                             kubelet measures it
//	containerfs.available,       that of writable layers; the one of images        as imagefs
//	containerfs.inodesFree       unless the runtime (CRI-O) names another
//	pid.available                the smaller of pid_max and threads-max, less the  kubelet
//	                             running tasks
//	a pod's memory, processes    the working set and the tasks of its cgroups      kubelet or container runtime
//	a pod's disk                 writable layers, logs, and volumes on the node    kubelet, volumes and layers
//	                                                                               every minute or so
//	a pod's requests, priority,  what its spec and its annotations say             API server
//	QoS class and protection
//	the layout of file systems   not served: you configure it                      you, in Config.Layout
//
// The working set is what is used, without the file pages that the kernel could drop at once. A kubelet does not see
// the limit of a cgroup that it runs in itself, nor huge pages that were reserved after it started.
//
// A signal without a sample is in Decision.Unmeasured: its thresholds count as not met. Of pods, only those are
// candidates that are in Stats.Pods; package summary says which are.
//
// # Time
//
// What counts is elapsed time, by the clock in the Config. If the clock's readings have a monotonic part, as the real
// clock's do, setting the wall clock changes neither grace nor transition periods. Without one, a jump forward counts
// as time passed, and a step back as no time. Instants in decisions are what the clock shows at the decision. The time
// of a sample comes from whatever measured it; a Machine compares it only with other samples.
//
// # What differs from the kubelet
//
// The kubelet here is that of k8s.io/kubernetes v1.37. DIFFERENCES.md, at the top of the repository, lists each
// deliberate difference with its reason and its test. A test plays random series on both this package and the original,
// and counts how often each difference shows.
//
// Three surprises are as in the kubelet: after reclaiming, a pod goes if any threshold is within its minimum reclaim,
// even one that was not met before; a shortage ends when samples of its signal are missing; and page cache that the
// kernel counts as active counts as used.
package nodepressure
