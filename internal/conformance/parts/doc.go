// Package parts runs operation sequences on the machines of this library and on what they replace in k8s.io/kubernetes,
// side by side on one clock.
//
// A sequence is decoded from bytes: seeded random ones in the tests, any in the fuzz targets. After each operation both
// sides must have done the same, or differ by a rule, which names a row of DIFFERENCES.md. If they differ, the other
// side is brought in line, so that the rest of the sequence can be compared too. The tests log how often each rule
// fired, and fail if one never did.
//
//   - queue_test.go, turn_test.go: ratelimitqueue.Queue and scheduler.RateLimitedTimedQueue.
//   - work_test.go: timedworker.Set and tainteviction.TimedWorkerQueue.
//   - queuetable_test.go, worktable_test.go: the migration tables of these two packages, a story for each row.
//   - zone_test.go: zone keys and states, and topology.GetZoneKey and nodelifecycle.Controller.
//   - match_test.go: tolerations, and ToleratesTaint and GetMatchingTolerations.
//   - swap_test.go: both tainteviction controllers in an outage that swaps its taints; evictor/WHY.md has the table.
//   - patch_test.go: taint patches, and AddOrUpdateTaintOnNode, RemoveTaintOffNode and SwapNodeControllerTaint.
//
// Package differential compares how long a pod stays under its taints otherwise, because upstream exports no function
// for it.
package parts
