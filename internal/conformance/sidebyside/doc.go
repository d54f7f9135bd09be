// Command sidebyside measures evictkit and upstream's controllers (k8s.io/kubernetes v1.36.3) on the same
// work and prints the table "Beside upstream" of internal/BENCHMARKS.md; it fails where ours is not ahead:
//
//	go run -C internal/conformance ./sidebyside
//
// Both sides get the same keys, objects and times, in the same order; keys are shuffled strings. Both have
// logging switched off. They are measured in turn, in one process, each from a structure or a cluster of its
// own, and the least of several runs counts (-runs; what plays in virtual time runs at most 3 times, and once
// with more than 5,000 nodes). A figure is what the whole process spends meanwhile: CPU time, in which a
// shared machine shows least and the collecting of garbage is part, allocations and bytes. What runs in
// virtual time runs in a testing/synctest bubble. The rows:
//
//   - Queue, Remove and Add: of any one of n names that wait, by ratelimitqueue.Queue and by upstream's
//     RateLimitedTimedQueue, both on the real clock.
//   - Queue, added, handed out, removed: n names are added, all handed out (Take and Done; Try), and all
//     removed, at a rate that holds nothing back. A first round, for which queues and maps grow, is not
//     counted. Upstream removes from a queue that is empty by then, so its search through it costs nothing.
//   - Timed work, Cancel and Schedule: of one of n pods, by timedworker.Set (key {namespace, name}, UID as
//     identity) and by upstream's TimedWorkerQueue (its key is the joined string, which it and its caller make
//     each time), both on the real clock.
//   - Timed work, heap an item: by how much the live heap grows, the callers' strings not counted.
//   - Timed work, scheduled and carried out: n pieces of empty work, due in the course of five virtual minutes.
//     Upstream starts two goroutines for each; timedworker.Run has its eight workers.
//   - Toleration match: by which of four tolerations two taints are tolerated, of any one of n pods. typical: a
//     failed node of a dedicated pool. adverse: what matches comes last, after the same key with another effect
//     or value. taints.Tolerate also picks the taints that evict and says for how long; upstream's
//     GetMatchingTolerations does neither, it copies the tolerations into a new slice. Comparing one toleration
//     with one taint costs the same on both sides, and no pair shows that.
//   - Monitor pass: a pass and the heartbeats that come in its 5 s, over a virtual minute (five with fewer than
//     5,000 nodes), with client-go's informer stores, upstream's node lifecycle and taint eviction controllers
//     or evictor.Run on top, 2 pods a node. Every node renews its lease each 10 s and reports each 5 min, spread
//     evenly. Making and storing these objects is counted on both sides and is also given alone. They are put
//     into the stores without a watch, which spares upstream its handlers of node events; ours is told of each
//     lease and report. The first passes are not counted.
//   - Heartbeat: the same, divided by the heartbeats, where all of them are lease renewals, and where all are
//     status reports and there are no leases, each 10 s. Upstream notes heartbeats in its passes only, so there
//     is no smaller piece of it that could be measured; the storing is counted here too.
//   - Zone lost: n nodes in three zones with 2 pods each, tolerationSeconds 30; all kubelets of one zone stop,
//     and the 3 virtual minutes that follow are measured: heartbeats, passes, verdicts, pods marked not ready,
//     taints at 5 nodes a second, evictions, events. Both sides run on client-go's informers and write through the
//     same fake clientset. What that and the informers spend is counted on both sides and dilutes the ratio; the
//     heartbeats without any controller are given alone. Both must declare the same nodes Unknown and mark the
//     same pods; what they taint and evict meanwhile is in the row, ours : upstream, because upstream loses
//     tokens where its ticks meet its passes. Ours did at least as much, or the command fails.
package main
