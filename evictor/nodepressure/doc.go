// Package nodepressure decides what a node does when it runs short of memory, disk or process numbers: what it
// says of itself, what it cleans up, which pod it evicts, and which it turns away.
//
// # What it is about
//
// A Kubernetes node has an agent, the kubelet, that runs its pods. The pods share what the node has, and when that
// runs out the kernel kills whoever asks next, or writes fail. The kubelet acts before: as soon as less than a
// threshold is left it sets a condition in the node's status, such as MemoryPressure, so that no more pods come; it
// deletes what no pod needs; and then it evicts pods, one at a time, until enough is left again.
//
// This package is that part of the kubelet for other programs: an agent of another kind, a simulation, a program
// that asks what a node would have done. A Machine is given one measurement of the node after the other and answers
// with decisions. It measures nothing and kills nobody.
//
//	machine, err := nodepressure.New(nodepressure.DefaultConfig()) // or Settings{…}.Config()
//	…
//	decision := machine.Observe(stats) // now and then, say every 10s
//	for _, condition := range nodepressure.NodeConditions(decision.Conditions) {
//		… // into the node's status
//	}
//	if decision.Action == nodepressure.ReclaimNode {
//		… // clean up what decision.Reclaim lists, and measure again
//		decision = machine.AfterReclaim(decision, stats)
//	}
//	for _, eviction := range decision.Evictions { // none unless the Action is EvictPods
//		… // kill eviction.Pod within eviction.GracePeriodSeconds, and say eviction.Message
//	}
//	admission := machine.Admit(newcomer) // may this pod start here?
//
// A Manager is this loop with what belongs to it: it measures, cleans up, kills and waits through interfaces of
// yours. Admit, Rank and QOSClass are of use alone.
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
//   - A Signal is something that a node can run short of: memory, space or inodes of each of its file systems,
//     process numbers. A Threshold says below which amount of it the node is short.
//   - Met: less than that is available. A threshold that was due stays met until its minimum reclaim is available
//     on top; until then it is Rising.
//   - Due: met for its grace period. A threshold without one is hard, others are soft.
//   - Conditions: what is met makes MemoryPressure, DiskPressure or PIDPressure True, at once, and for a transition
//     period after it was last met, so that they do not flap.
//   - The first: hard before soft, memory before the rest, then the order of Signals. What was measured before is
//     not acted on again: it does not show yet what the last eviction brought.
//   - Reclaim: short of disk, dead containers and unused images go first. AfterReclaim says whether that was enough.
//   - Evict: pods are ranked, those first that use more than they requested, and the first that is not protected
//     goes. One at a time, because what it gives back may be enough. A pod that exceeds its own limits of local
//     storage goes before that, whether or not the node is short of anything, and all such pods go at once.
//
// Amounts are int64: bytes, inodes, processes.
//
// # The Manager
//
// Run makes a pass every MonitoringPeriod and whenever Notify is called; Step does what is due for those who have a
// loop of their own. After an eviction it waits until the pod has given back what it used, then passes again. A hard
// eviction takes the place of a soft one whose pod still has its time. A Kill that has not returned in time (ten
// seconds, or one and a half times the grace period) is given up and reported; its answer is taken when it comes, and
// until then its pod is passed over. Meanwhile conditions and Admit follow the node. Only Run starts goroutines, and
// it waits for them.
//
// # Where measurements come from
//
//   - Package summary reads what a kubelet serves of its node, also from far away.
//   - Package cgroup measures the machine that it runs on by its cgroup v2 files, as a StatsProvider, and calls
//     Notify when the kernel says that tasks wait for memory.
//   - Any other source: Stats is a plain struct.
//
// # Time
//
// Only elapsed time counts, by the clock in the Config. Setting the wall clock of a machine changes neither grace nor
// transition periods, as long as the clock's readings have a monotonic part, as those of the real one do. By one whose
// readings have none, forward is time, and back means that no time passed and that what follows counts from there.
// Instants in decisions are as the clock shows them then. Times of samples come from whoever measured, and are only
// compared with each other.
//
// # What differs from the kubelet
//
// The kubelet is that of k8s.io/kubernetes v1.36. What is decided otherwise, on purpose, has a row in DIFFERENCES.md,
// at the top of the repository, with its reason and its test. A test beside the original plays random series on both,
// and counts how often each row makes a difference.
//
// What is kept although it surprises: after reclaiming, a pod is evicted when any threshold is within its minimum
// reclaim, also one that was not met before; samples of a signal that are missing end a shortage; page cache that the
// kernel takes for active counts as used.
package nodepressure
