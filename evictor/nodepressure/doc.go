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
// Upstream is k8s.io/kubernetes v1.36. Each row has its test; a test beside the original plays random
// series on both and counts each difference under the name in the last column.
//
//	what                                    why                                               test, name of the rule
//	of several due thresholds, hard ones    a hard shortage must not wait for a soft one; the TestFirstOfTheDueThresholds
//	come first; ties have an order          original's order is random but for memory         hard-first, threshold-order
//	of equal pods the first by name goes    the original's order is that of its sort          TestRankingTiesGoByName, pod-ties
//	a request of storage is not taken from  bytes are no inodes                               TestInodesAreNotBytes, inode-unit
//	a number of inodes
//	requests of storage count in pods with  the original forgets them                         TestRequests, pod-level-storage
//	resources of their own
//	derived thresholds of the container     the original uses them from its second pass on    TestContainerFsFromTheFirstSample, first-pass
//	file system hold from the first pass
//	a sample seen before is stale though    it is as old as it was                            TestStaleOverAGap, stale-over-gap
//	one was missing meanwhile
//	without a transition period conditions  the original never sets them                      TestConditionsWithoutTransitionPeriod,
//	are true while they are called for                                                        no-transition
//	the QoS class comes from resources      a status may lie                                  TestAdmission, qos-status
//	100.0% and the like turn a threshold    they are 100%                                     TestSettingsFaults, parse-off
//	off
//	NaN%, 10%% and a minimum reclaim above  nobody means them                                 TestSettingsFaults, parse-strict
//	100% are faults
//	every fault is reported                 the original stops at the first                   TestSettingsReportEveryFault
//	a negative maximal grace period defers  as documented, and not done                       TestGracePeriodOfSoftEvictions, negative-grace
//	to the pod
//	a hard eviction takes the place of a    the original waits for the soft one               TestHardPreemptsSoft
//	soft one in progress
//	volumes without a measured size are     the original panics                               TestUnknownUsage
//	not counted
//
// What it keeps although it surprises: after reclaiming, a pod is evicted when any threshold is within its
// minimum reclaim, also one that was not met before; samples of a signal that are missing end a shortage;
// page cache that the kernel holds active counts as used.
package nodepressure
