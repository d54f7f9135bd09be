// Package health says who is alive, judged by signs of life seen on our own clock, and when that next changes.
//
// # Three trackers
//
// Deadlines is the basic one, for any comparable key: Beat a key, and ask who has Expired, who is Late and when is
// Next. A beat is O(1) and allocates nothing. Finding the expired keys costs what expired, and O(log n) for each key
// once in a grace period.
//
// Durations is for conditions, as repair controllers look at them: Observe the conditions of a key, and ask which keys
// have had one in a status for as long as a Rule says, and when is Next. See "Conditions that last".
//
// Monitor is the Kubernetes part. It observes Node objects (or plain Reports) and lease renewals, and gives verdicts:
//
//	                 Ready condition    silent for              verdict
//	never reported   missing            startup grace, 60s      Unknown, NodeStatusNeverUpdated
//	alive            True or False      less than grace, 50s    what it reports
//	silent           any                monitor grace           Unknown, NodeStatusUnknown
//
// A lease renewal keeps a node from becoming Unknown. Once its object says Unknown, only its own report changes that.
// UnknownConditions returns the conditions to write. The default grace of 50s is longer than the 45s that a kubelet may
// need to notice a dead HTTP/2 connection.
//
// A heartbeat may get lost on its way to us. With Config.Confirm a silent node first becomes a suspect: Pass says so,
// once, and its verdict stays as it was. Whoever knows better then calls Confirm, which makes it Unknown, or Revive,
// which is a sign of life; so is any heartbeat that comes meanwhile. A suspect that was Unknown before is not Settled.
//
// With a NodeMonitorPeriod, 5s by default, a Monitor works on a grid, as kube-controller-manager does: the next pass
// notes a heartbeat, and verdicts change only at passes. A grace that ends exactly at a pass expires at the next pass.
// With a period of 0 the Monitor is exact: heartbeats are noted on arrival, and verdicts change at the deadline. Next
// says when to call Pass; nobody needs to poll.
//
// # Whose time
//
// A node's clock may be an hour off, or be set back while it runs. So a time that another machine wrote is compared
// only with the one it wrote before. If the two differ, in either direction, that is a sign of life, and it happened
// when we saw it. Only three times from elsewhere count as instants: a creation, the start given to TrackSince, and the
// transition of a condition. Each becomes an age once, when it is first seen. One in the future counts as now. A node
// is no older than the last Pass, which would have seen it, and a change is no older than the observation before it.
//
// Our own clock may be set too. What counts is elapsed time. If readings have a monotonic part, as the real clock's do,
// only that part is used, and setting the wall clock by an hour or a day moves no deadline. Without it, a clock that
// jumps forward counts as time passed, and one that goes back counts as no time passed. Methods return instants as the
// clock shows them now.
//
// # Listening
//
// A Monitor that slept heard nobody, which says nothing about the nodes. So what it did not listen to is no silence:
//
//  1. All clocks start with the first Pass, whatever was observed before.
//  2. On the grid, listened time grows by one period at most from one pass to the next. If a pass has missed a slot,
//     that period counts only from the next pass on. In exact mode listened time grows by the gap between two calls;
//     but a gap that is more than a fifth longer than the wait for Next, and longer than a twentieth of a grace, counts
//     for nothing, or as a twentieth of a grace if there was another in the last two graces.
//  3. A node is Unknown after one grace period of listened silence.
//  4. A loss is more unheard time at a stretch than one grace. The Pass that finds it starts all clocks again, as
//     Restart does, unless it did so within the last two graces.
//
// So a single gap in our listening ends with no verdict. After one of more than a grace, nobody is Unknown or Settled
// before one more grace. Nor can any rhythm of calls keep a Monitor silent for ever: all gaps but a few count for
// something, and losses restart the clocks at most once in two graces of listened time. There is one exception in exact
// mode: a sleep that ends just when Next asked for a call looks like waiting for it.
//
// Deadlines counts all time. An observer that could not hear calls Reset; for a Monitor that is Restart, and Freeze and
// Thaw stop verdicts for as long as it lasts. Durations counts all time too: a status lasts until another one is
// observed. An observer that could not see must Observe every key again before it asks who has Expired.
//
// # Conditions that last
//
// A Rule is a condition's type, a status and a time, as in a repair controller's list of unhealthy conditions. For
// every condition that a rule names, Durations keeps the status and when it began:
//
//	observed                             the status began
//	for the first time                   at its LastTransitionTime; now, where that is zero or in the future
//	another status than before           likewise, but not before the last observation
//	the same with another transition     likewise: it has changed and come back
//	the same                             when it did before
//
// A missing condition has no status: no rule applies to it, not even one for Unknown. A rule that comes true for a key
// is handed out once until that condition changes; then Observe returns it as ended. A writer that sets a new
// transition time with every heartbeat never lets a status grow old.
//
// # Old objects seen again
//
// An old object, as shown by a relist from a stale cache, must not pass for a sign of life. So an object is ignored as
// a whole if its resourceVersion is older than the newest one seen under its name, whatever its UID. This needs
// versions that are decimal numbers. Nodes are compared with nodes and leases with leases. An object with another UID
// that is not older is another node, which starts afresh; a UID that is learned late is adopted.
//
// When etcd is restored from a backup, all versions fall although the objects are alive. What tells this apart from a
// stale cache is a heartbeat or renewTime later than any the object has ever shown, because no old cache can have that.
// It counts as a sign of life whatever the version. When two objects of a kind show one, a new epoch begins for that
// kind, and versions seen before it no longer count. Until an object has shown a version in the new epoch, only a later
// stamp is a sign of life. So neither a stale relist nor a backup revives a dead node, and a node whose clock steps
// back does not die.
//
// All types are safe for concurrent use, start no goroutine and call nothing but the clock. No operation is linear in
// what it neither changes nor returns.
package health
