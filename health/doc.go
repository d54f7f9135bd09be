// Package health says who is alive and when that next changes. It judges by the signs of life that it sees, on its own
// clock.
//
//	beats, err := health.NewDeadlines[string](health.DeadlinesConfig{Grace: 40 * time.Second})
//	beats.Beat(id)                    // when a message comes
//	for id := range beats.Expired() { // when it is time: see Next
//
// Deadlines is for whatever sends signs of life. Monitor is for Kubernetes nodes: it reads their objects and leases,
// and judges as kube-controller-manager does.
//
//	monitor.ObserveNode(node)                             // at each event of a node
//	monitor.ObserveLease(name, lease.RenewTime, version)  // at each event of a lease
//	for _, verdict := range monitor.Pass() {              // when Next says
//
// # Silence
//
// Only time in which we listened counts: of the time between two calls, at most MaxGap.
//
//   - Every method counts as a call, even if it fails, but Forget, Freeze, Len.
//   - MaxGap is a quarter of a key's own grace period unless the program sets it.
//   - It is at least 1ns and, with a NodeMonitorPeriod, 1.2 periods.
//   - A key is silent once its grace period has passed in time that counts.
//   - Next lies at most half the smallest MaxGap ahead, rounded up, of keys that can still fall silent.
//   - With a NodeMonitorPeriod, Next lies one period after the last Pass instead.
//
// So a process that was suspended condemns nobody who is heard soon after. Who calls when Next says finds each silence
// when its grace period ends. A test that steps a fake clock by ten minutes was suspended, too: step from one Next to
// the next, or set MaxGap to an hour.
//
// # Monitor
//
//	                 Ready condition    silent for              verdict
//	never reported   missing            startup grace, 60s      Unknown, NodeStatusNeverUpdated
//	alive            True or False      less than grace, 50s    what it reports
//	silent           any                monitor grace           Unknown, NodeStatusUnknown
//
// With a NodeMonitorPeriod, a heartbeat is dated at the Pass that finds it, and silence must be 1ns longer than the
// grace period. Without one, a heartbeat is dated when it comes, but never before the first Pass.
//
// # Whose time
//
// A node's clock may be wrong. So a time that another machine wrote is only compared with the one that it wrote before.
// If they differ, in either direction, that is a sign of life now. A report whose Ready is Unknown is none, because no
// kubelet writes it. Only the creation of an object and the start given to Track become an age, when first seen. The
// zero time, or one in the future, counts as a heartbeat then. On our own clock, only elapsed time counts. If readings
// have no monotonic part, a step forward is time between two calls, and a step back is no time.
//
// # Old objects seen again
//
// A stale cache may show an old object again. That must not revive a dead node. So a Monitor ignores an object with a
// resourceVersion older than the newest. Once NodeMonitorGracePeriod has passed since the first old one, with no newer
// or equal one between, it takes each old one, but not as a sign of life. A stamp (heartbeat or renewTime) later than
// all before is believed at once; after that time its version is the newest. So etcd may be restored from a backup.
// An object without a decimal version is never old, and ends no such time. Versions are compared across UIDs, stamps of
// a node only within one.
//
// # What goes wrong
//
// A key that cannot be hashed panics. So does tracking one that does not equal itself (NaN), because it could never be
// forgotten. What panics changes no key. All methods are safe for concurrent use. Memory is bounded by what is tracked.
// An operation costs what it changes and returns, and O(log n) for each key once in a grace period. A gap longer than
// MaxGap costs O(1) for each distinct grace period. Restart and Thaw are O(n).
package health
