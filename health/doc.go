// Package health says who is alive, judged by signs of life seen on our own clock, and when that next changes.
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
// With a NodeMonitorPeriod, 5s by default, it works on a grid, as kube-controller-manager does: a heartbeat is dated
// at the next slot unless it comes exactly on one, a verdict at the slot of its Pass. A slot ends a grace that ends by
// then, if the Pass comes later than the end, however little. With a period of 0 it is exact. With Config.Confirm a
// silent node is a suspect first, until Confirm, Revive or a heartbeat.
//
// # Whose time
//
// A node's clock may be wrong. So a time that another machine wrote is compared only with the one it wrote before: if
// the two differ, in either direction, that is a sign of life, and it happened when we saw it. Only creations,
// transitions of conditions and the start given to Track count as instants. Each becomes an age once, when it is first
// seen, and one in the future has none. Of our own clock, elapsed time counts: setting the wall clock moves no
// deadline if readings have a monotonic part. Without it, forward is time passed and back is no time passed.
//
// # Listening
//
// Who slept heard nobody, which says nothing about the others. So silence counts only while somebody listens, that is
// calls: on the Monitor's grid at most one period from Pass to Pass, elsewhere as Deadlines says. All clocks of a
// Monitor start with its first Pass, and again at the Pass after a gap that does not count and is longer than the
// NodeMonitorGracePeriod, on the grid by more than a period; at most once in twice the longer grace. A single gap
// condemns nobody, whatever its length.
//
// A test on a fake clock stumbles over that: one jump of ten minutes says nothing. Let time pass as it will in
// production, from one Next to the next:
//
//	for next, ok := beats.Next(); ok && !next.After(end); next, ok = beats.Next() {
//		clock.SetTime(next)
//		for id := range beats.Expired() {
//
// # Old objects seen again
//
// A relist from a stale cache must not revive a dead node. So an object is ignored if its resourceVersion is older
// than the newest one seen under its name, unless it shows a later stamp (heartbeat or renewTime) than ever, which no
// old cache can hold. If two objects of a kind show that, etcd was restored from a backup, and the versions of all
// objects seen before no longer count, unless one of them shows a newer one first. The first version that an object
// shows, ever or after that, is taken; its stamp is a sign of life only if it is later than all before. An object
// without a version is never ignored. A name's versions are known until Forget. Under another UID an older one is
// ignored in any case.
//
// # What goes wrong
//
// A key that does not equal itself (NaN) can never be forgotten. A Deadlines that is asked less often than Next says
// takes longer to see a silence. Durations cannot tell two objects with one key apart. All types are safe for
// concurrent use and start no goroutine. No operation is linear in what it neither changes nor returns, but Reset,
// Thaw and Restart.
package health
