// Package nodepressure is the kubelet's eviction manager as a pure machine: would this node be under
// pressure, since when, what would be reclaimed, which pod goes first, would this pod be admitted?
//
// # The model
//
// A node has signals: how much memory, how much space and how many inodes of each file system, and how
// many process numbers are left. Thresholds say below which amount it is short of one. A Machine is given
// samples and answers with decisions:
//
//	Stats ──▶ met? ──▶ since when? ──▶ due? ──▶ newly measured? ──▶ first of them
//	           │                                                        │
//	           ▼                                                        ▼
//	     node conditions ──▶ Admit                      ReclaimNode, then EvictPods, or Stuck
//
// What the words mean:
//
//   - Met: less than the value is available. A threshold that was due stays met until its minimum reclaim
//     is available on top (it is held).
//   - Due: met for its grace period. A hard threshold has none.
//   - Conditions: what is met makes MemoryPressure, DiskPressure or PIDPressure True, at once and for a
//     transition period after it was last met.
//   - First: hard before soft, memory before the rest, then the order of Signals. What was measured before
//     is not acted on again: it does not show yet what the last eviction brought.
//   - Reclaim: short of disk, dead containers and unused images go first; AfterReclaim says whether that
//     was enough.
//   - Evict: the pods are ranked, and the first that is not protected goes. One pod at a time, because what
//     it gives back may be enough. Pods that exceed their own limits of local storage go all at once and
//     before anything else.
//
// # How to use it
//
// Settings are the eviction fields of a KubeletConfiguration; they become a Config, and that a Machine.
// Who has a loop calls Observe and does what the Decision says; a Decision is plain data and whole: the
// ranked pods, the grace period, the message, the conditions. A Manager is the kubelet's loop: it measures,
// reclaims, kills and waits through interfaces of yours, and lets a hard eviction take the place of a soft
// one that is in progress. Only its Run starts goroutines. Admit, Rank and QOSClass are of use alone.
//
// Amounts are int64: bytes, inodes, processes. Time comes from the clock in the Config; times of samples
// come from whoever took them and are only compared with each other.
//
// # What differs from upstream
//
// Upstream is the kubelet of k8s.io/kubernetes v1.36. What is decided otherwise, on purpose, stands in the
// table of package evictor (evictor/doc.go, "Differences from the kubelet"), each row with its reason and its
// test. A test beside the original plays random series on both, and counts how often each row makes a
// difference.
//
// What it keeps although it surprises: after reclaiming, a pod is evicted when any threshold is within its
// minimum reclaim, also one that was not met before; samples of a signal that are missing end a shortage;
// page cache that the kernel holds active counts as used.
package nodepressure
