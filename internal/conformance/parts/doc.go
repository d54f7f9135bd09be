// Package parts holds tests that run operation sequences on the machines of this library and on what they
// replace in k8s.io/kubernetes, side by side on one clock.
//
// A sequence is decoded from bytes: seeded random ones in the tests, any in the fuzz targets. After each
// operation both sides must have done the same, or differ by a differential.Rule, which names a row of the
// table of package evictor. Where they differ, the side that a rule allows to is brought in line with the
// other, so that the rest of the sequence can be compared too. How often each rule fired is logged, and one
// that never does fails its test.
//
//   - queue_test.go, turn_test.go: ratelimitqueue.Queue and scheduler.RateLimitedTimedQueue.
//   - work_test.go: timedworker.Set and tainteviction.TimedWorkerQueue.
//   - queuetable_test.go, worktable_test.go: the migration tables of these two packages, a story for each row.
//   - zone_test.go: zone keys and states, and topology.GetZoneKey and nodelifecycle.Controller.
//   - match_test.go: tolerations, and ToleratesTaint and GetMatchingTolerations.
//   - patch_test.go: taint patches, and AddOrUpdateTaintOnNode, RemoveTaintOffNode and SwapNodeControllerTaint.
//
// How long a pod stays under its taints is compared by package differential: upstream exports no function for it.
package parts
