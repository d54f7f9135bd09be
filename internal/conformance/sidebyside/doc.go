// Command sidebyside measures evictkit and upstream's controllers (k8s.io/kubernetes v1.37.2) on the same work and
// prints the table "Beside upstream" of internal/BENCHMARKS.md. It fails if ours is not ahead in every row:
//
//	go run -C internal/conformance ./sidebyside
//
// Both sides get the same keys, objects and times, in the same order; keys are shuffled strings. Logging is off on both
// sides. They are measured in turn, in one process, each with a new structure or cluster, and the least of several runs
// counts (-runs; in virtual time at most 3 runs, and one with more than 5,000 nodes). A figure is what the whole
// process spends: CPU time including garbage collection (the figure that a busy machine affects least), allocations and
// bytes. Virtual time is that of a testing/synctest bubble. The rows:
//
//   - Queue, Remove and Add: one of n waiting names is removed and added again, in ratelimitqueue.Queue and in
//     upstream's RateLimitedTimedQueue, both on the real clock.
//   - Queue, added, handed out, removed: n names are added, all handed out (Take and Done; Try), and all removed, at a
//     rate that delays nothing. A first round, in which queues and maps grow, is not counted. Upstream's queue is empty
//     when names are removed, so its search through it costs nothing.
//   - Timed work, Cancel and Schedule: of one of n pods, in timedworker.Set (key {namespace, name}, UID as value)
//     and in upstream's TimedWorkerQueue (its key is a joined string, which it and its caller make each time), both on
//     the real clock.
//   - Timed work, heap an item: how much the live heap grows, without the callers' strings.
//   - Timed work, scheduled and carried out: n pieces of empty work, due within five virtual minutes. Upstream starts
//     two goroutines for each; timedworker.Run has eight workers.
//   - Toleration match: which of four tolerations match two taints, for one of n pods. Typical: a failed node of a
//     dedicated pool. Adverse: the match comes last, after the same key with another effect or value. taints.Tolerate
//     also picks the taints that evict and says for how long. Upstream's GetMatchingTolerations does neither; it copies
//     the tolerations into a new slice. Comparing one toleration with one taint costs the same on both sides, so no row
//     shows that.
//   - Monitor pass: a pass and the heartbeats within its 5 s, over a virtual minute (five minutes with fewer than 5,000
//     nodes). Upstream's node lifecycle and taint eviction controllers, or evictor.Run, run on client-go's informer
//     stores, with 2 pods per node. Every node renews its lease every 10 s and reports every 5 min, spread evenly.
//     Making and storing these objects is counted on both sides, and also given alone. They are put into the stores
//     without a watch. That spares upstream its handlers of node events; ours gets each lease and report as an event.
//     The first passes are not counted.
//   - Heartbeat: the same per heartbeat, every 10 s, if all of them are lease renewals, and if all are status reports
//     and there are no leases. Upstream notes heartbeats only in its passes, so no smaller part of it can be measured.
//     Storing is counted here too.
//   - Zone lost: n nodes in three zones with 2 pods each, tolerationSeconds 30. All kubelets of one zone stop, and the
//     next 3 virtual minutes are measured: heartbeats, passes, verdicts, pods marked not ready, taints at 5 nodes a
//     second, evictions, events. Both sides run on client-go's informers and write through the same fake clientset. The
//     cost of these is counted on both sides and dilutes the ratio; heartbeats without a controller are given alone.
//     Both must declare the same nodes Unknown and mark the same pods. How many they taint and evict is in the row,
//     ours : upstream, because upstream loses tokens where its ticks meet its passes. The command fails unless ours did
//     at least as much.
package main
