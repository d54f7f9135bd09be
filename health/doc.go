// Package health says who is alive and when that next changes. It judges by the signs of life that it sees, on its own
// clock.
//
//	beats, err := health.NewDeadlines[string](health.DeadlinesConfig{Grace: 40 * time.Second})
//	beats.Beat(id)                   // when a message comes
//	for id := range beats.Expired() { // when it is time: see Next
//
// Which type you need:
//
//	Deadlines   for anything that sends signs of life: devices, sites, processes, clusters
//	Monitor     for Kubernetes nodes, from their objects and leases, as kube-controller-manager judges them
//	Durations   for conditions that must last before anything is done, as repair controllers configure them
//
// # Monitor
//
//	monitor.ObserveNode(node)                     // at each event of a node
//	monitor.ObserveRenewal(name, lease.RenewTime) // at each event of a lease
//	for _, verdict := range monitor.Pass() {      // when Next says
//
//	                 Ready condition    silent for              verdict
//	never reported   missing            startup grace, 60s      Unknown, NodeStatusNeverUpdated
//	alive            True or False      less than grace, 50s    what it reports
//	silent           any                monitor grace           Unknown, NodeStatusUnknown
//
// With a NodeMonitorPeriod (5s by default), a Monitor works on a grid of slots, as kube-controller-manager does. It
// dates a heartbeat at the next slot unless the heartbeat comes exactly on one, and a verdict at the slot of its Pass.
// A Pass finds expired every grace period that ended before its slot and, if it comes later than the slot, however
// little, also one that ended exactly at the slot. With a period of 0 all of this is exact. With Config.Confirm, a
// silent node is first a suspect, until Confirm, Revive or a heartbeat.
//
// # Whose time
//
// A node's clock may be wrong. So the package compares a time that another machine wrote only with the one that it
// wrote before: if the two differ, in either direction, that is a sign of life, and it happened when we saw it. Only
// the creation of an object, the transition of a condition and the start given to Track count as instants. Each becomes
// an age once, when it is first seen; one in the future becomes age 0. On our own clock, only elapsed time counts:
// setting the wall clock moves no deadline if readings have a monotonic part. Without one, a step forward counts as
// time passed, and a step back as no time.
//
// # Listening
//
// A process that was asleep heard nobody, which says nothing about the nodes. So silence counts only while the program
// listens, that is, while it keeps calling: on the Monitor's grid at most one period from one Pass to the next,
// elsewhere as Deadlines says. All clocks of a Monitor start with its first Pass. They restart at the Pass after a gap
// that does not count and is longer than the NodeMonitorGracePeriod (on the grid, longer by more than a period), but at
// most once in twice the longer grace period. A single gap condemns nobody, however long it is.
//
// Mind this in tests on a fake clock: one jump of ten minutes condemns nobody. Let time pass as it will in production,
// from one Next to the next:
//
//	for next, ok := beats.Next(); ok && !next.After(end); next, ok = beats.Next() {
//		clock.SetTime(next)
//		for id := range beats.Expired() {
//
// # Old objects seen again
//
// A relist from a stale cache must not revive a dead node. So a Monitor ignores an object whose resourceVersion is
// older than the newest one seen under its name. There is one exception: no old cache can hold a stamp (heartbeat or
// renewTime) later than all seen before, so an object with such a stamp is believed. Once two objects of a kind have
// shown a later stamp with an older version, and neither has shown a newer version since, etcd must have been restored
// from a backup: the versions seen until then no longer count. The first version that an object shows, ever or after
// such a restore, is accepted; its stamp is a sign of life only if it is later than all before. An object without a
// version is never ignored. The Monitor knows a name's versions until Forget. It always ignores an older version under
// another UID.
//
// # What goes wrong
//
// A key that does not equal itself (NaN) can never be forgotten. A Deadlines that is asked less often than Next says
// takes longer to see a silence. Durations cannot tell two objects with the same key apart. All types are safe for
// concurrent use and start no goroutine. The cost of an operation grows with what it changes and returns, except for
// Reset, Thaw and Restart, which are O(n).
package health
