// Package health tells who is alive, from signs of life seen by our own clock, and when that next changes.
//
// # Three trackers
//
// Deadlines is the plain part, for any comparable key: Beat it, ask who is Expired or Late and when is Next. A beat is
// O(1) and allocates nothing; finding the expired costs what expired.
//
// Durations is for conditions, as repair controllers look at them: Observe those of a key, ask who has had one in a
// status for as long as a Rule asks, and when is Next. See "Conditions that last".
//
// Monitor is the Kubernetes part. It is told of Node objects, or plain Reports, and of lease renewals, and gives
// verdicts:
//
//	                 Ready condition    silent for              verdict
//	never reported   missing            startup grace, 60s      Unknown, NodeStatusNeverUpdated
//	alive            True or False      less than grace, 50s    what it reports
//	silent           any                monitor grace           Unknown, NodeStatusUnknown
//
// A renewal keeps a node from becoming Unknown; only its own status report makes it anything else again.
// UnknownConditions gives the conditions to write. The default grace of 50s is more than the 45s in which a kubelet's
// dead HTTP/2 connection is noticed.
//
// With a NodeMonitorPeriod, 5s by default, a Monitor works on a grid: heartbeats are noted at the pass that follows
// them and verdicts fall at passes, strictly after the grace, as in kube-controller-manager: when a grace ends with a
// pass, one that is exactly on time, as on a fake clock, comes too early for it, and one that is late by a nanosecond,
// as on a real clock, does not. With 0 it is exact: heartbeats are noted on arrival and verdicts fall at the deadline.
// Next says when to call Pass; nobody needs to poll.
//
// # Whose time
//
// A node's clock may be an hour off, or be set back while it runs. So a time that another machine wrote is only
// compared with the one it wrote before: when it differs, in either direction, that is a sign of life, and it
// happened when we saw it. Only a creation, the start that TrackSince is given, and the transition of a condition count
// as instants. They become ages once, when they are seen. One in the future counts as now, a node that comes while a
// Monitor runs is no older than the last Pass, and a change is no older than the observation before it.
//
// Our own clock may be set too. Elapsed time is what counts. Where readings have a monotonic part, as those of the
// real clock do, that part alone tells it, and setting the wall clock by an hour or a day moves no deadline. Where they
// have none, back means that no time passed and forward is time. The instants that methods return are told as the clock
// shows them now.
//
// # Listening
//
// A Monitor that was asleep has heard nobody, which says nothing about the nodes. So it counts in listened time:
//
//  1. Between two passes of the grid it grows by one period at most. In exact mode it grows by the gap between two
//     calls; one that lasts more than a fifth longer than the wait for Next counts as a twentieth of a grace.
//  2. A node is Unknown after one grace period of listened silence.
//  3. After a loss, more unheard time than a grace at a stretch, what has failed is Settled only after one more grace.
//
// So one gap that nobody explains condemns nobody: it counts for a tenth of a grace at most, as the defaults are. And
// no rhythm of calls keeps a Monitor silent for ever: every gap counts for something, and losses unsettle at most once
// in two graces. Only, in exact mode a sleep that ends just when Next asked for a call looks like waiting for it.
//
// Deadlines counts all time. Whoever could not hear calls Reset, as Restart for a Monitor; to stop verdicts while that
// lasts there are Freeze and Thaw. Durations counts all time too: a status lasts until another one is observed. Whoever
// could not see observes every key anew before he asks who is Expired.
//
// # Conditions that last
//
// A Rule is a condition's type, a status and a time, as in a list of unhealthy conditions. Of each condition that rules
// name, Durations knows the status and when it began:
//
//	observed                             the status began
//	for the first time                   at its LastTransitionTime; now, where that is zero or in the future
//	another status than before           likewise, but not before the last observation
//	the same with another transition     likewise: it has changed and come back
//	the same                             when it did before
//
// A condition that is not there has no status for which a rule can ask, and is not Unknown. Each rule
// that comes true for a key is handed out once until that condition changes, which Observe then tells. A writer that
// sets a new transition with every heartbeat never lets a status grow old.
//
// # Old objects seen again
//
// What must not pass for a sign of life is an old object, as a relist from a stale cache shows it. An object whose
// resourceVersion is older than the newest one seen under its name is ignored in whole, whatever its UID, where the
// versions are numbers that can be compared. Nodes compare with nodes and leases with leases. An object of another UID
// that is not older is another node, which starts afresh; a UID that is learned late is adopted.
//
// When etcd is restored from a backup all versions fall, and the objects are alive. What tells the two apart is a
// heartbeat or renewTime later than any that the object ever showed, which no old cache can have: that is a sign of
// life whatever the version. When two objects of a kind show it, a new epoch begins for the kind, in which versions
// are compared anew; until an object has shown a version in it, again only a later stamp is a sign of life. So a
// stale relist, or a backup, does not revive a dead node, and a node whose clock steps back does not die.
//
// All types are safe for concurrent use, start no goroutine and call nothing back but the clock. No operation is
// linear in what it neither changes nor returns.
package health
