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
// Silence is counted only while the program runs and can hear. Of the time between two calls, at most MaxGap counts.
//
//   - Every method is a call, even one that fails. Forget, Freeze and Len are not.
//   - Without a configured MaxGap, that of a key is a quarter of its grace period.
//   - With a NodeMonitorPeriod, MaxGap is never less than 1.2 periods. So a Pass that is a little late loses nothing.
//   - A key is silent once its whole grace period has been counted.
//   - Next is never later than half of the smallest MaxGap, rounded up. Only keys that can still fall silent matter.
//   - With a NodeMonitorPeriod, Next is one period after the last Pass instead.
//
// So a process that was suspended finds no key silent that is heard soon after. If you call at the times that Next
// returns, you see each silence at the moment its grace period ends. To move a fake clock by ten minutes in one step is
// like suspending the process: move it from one Next to the next, or set MaxGap to an hour.
//
// A program that runs and cannot hear has to say so:
//
//	the link to the keys is down            Deadlines.Pause and Resume: the counting goes on where it stopped
//	the link is up, keys need time to come  Restart: every grace period begins anew
//	the cluster is not watched              Monitor.Freeze and Thaw: no verdicts; then all begins anew
//
// Only Pause finds a dead key behind a link that breaks more often than once in a grace period.
//
// # Monitor
//
//	                 Ready condition    silent for              verdict
//	never reported   missing            startup grace, 60s      Unknown, NodeStatusNeverUpdated
//	alive            True or False      less than grace, 50s    what it reports
//	silent           any                monitor grace           Unknown, NodeStatusUnknown
//
// A node that never reported and was found silent keeps its grace period until its next sign of life, unless the other
// one is shorter: that its silence was written into its conditions does not take the verdict back.
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
// A stale cache may show an old object again. That must not revive a dead node. So a Monitor ignores an object whose
// resourceVersion is older than the newest one.
//
// After etcd was restored from a backup, all versions are old. So if old objects keep coming for
// NodeMonitorGracePeriod, and none with the newest version or a newer one comes between, the Monitor accepts them. They
// still are no signs of life. An old object whose heartbeat or renew time is later than any seen is a sign of life at
// once. Once that period is over, its version becomes the newest.
//
// An object whose resourceVersion is no decimal number is never old, and does not begin that period anew. Versions are
// compared even between objects with different UIDs, heartbeat times of nodes only within one UID.
//
// # What goes wrong
//
// A key that cannot be hashed panics. So does tracking one that does not equal itself (NaN), because it could never be
// forgotten. What panics changes no key. All methods are safe for concurrent use. Memory is bounded by what is tracked.
// An operation costs what it changes and returns, and O(log n) for each key once in a grace period. A gap longer than
// MaxGap costs O(1) for each distinct grace period. Restart and Thaw are O(n).
package health
