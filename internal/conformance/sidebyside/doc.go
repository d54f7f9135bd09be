// Command sidebyside measures evictkit and upstream's controllers (k8s.io/kubernetes v1.36.3) on the same
// work and prints the table of internal/BENCHMARKS.md:
//
//	go run -C internal/conformance ./sidebyside
//
// Each figure is the least of several runs (-runs). Both sides get the same keys, objects and times, in
// the same order; keys are shuffled strings. Both have logging switched off. The rows:
//
//   - Queue: Remove and Add of any one of n names that wait, by ratelimitqueue.Queue and by upstream's
//     RateLimitedTimedQueue, both on the real clock.
//   - Timed work: Cancel and Schedule of one of n pods, by timedworker.Set (key {namespace, name}, UID as
//     identity) and by upstream's TimedWorkerQueue (its key is the joined string, which it makes each
//     time), both on the real clock; and the growth of the heap an item, the callers' strings not counted.
//   - Toleration match: by which of four tolerations two taints are tolerated. taints.Tolerate also picks
//     the taints that evict and says for how long; upstream's GetMatchingTolerations does neither. Against
//     ToleratesTaint of k8s.io/api, asked about one toleration after the other: taints.Using.
//   - Monitor pass: the CPU time of the process over a virtual minute divided by its 12 passes, with
//     client-go's informer stores, upstream's node lifecycle controller or evictor.Run on top, 2 pods a
//     node. Every node renews its lease each 10 s and reports each 5 min, spread evenly. Storing these
//     objects is counted on both sides and is also given alone. They are put into the stores without a
//     watch, so upstream is spared its handlers of node events; ours is told of each lease and report.
//     The pass that follows the start is not counted.
//   - Heartbeat noted: from the object in the store to a sign of life with its time. Ours is one call of
//     LeaseRenewed by name (or one of health.Monitor.ObserveNode with a new report) and its share of the
//     passes that follow. Upstream notes heartbeats in no other way than in its passes: its figure is
//     that of the monitor pass without the storing, over the heartbeats that came between two passes.
//   - Zone lost: n nodes in three zones with 2 pods each, tolerationSeconds 30; the kubelets of one zone
//     stop, and the 3 virtual minutes that follow are measured: heartbeats, passes, verdicts, pods marked,
//     taints at 5 nodes a second, evictions, events. Both sides run on client-go's informers and write
//     through the same fake clientset; upstream is its node lifecycle and its taint eviction controller.
//     What the clientset and the informers spend is counted on both sides. Ours is also given for
//     internal/simulator, which is how simulations run.
//
// What runs in virtual time runs in a testing/synctest bubble.
package main
