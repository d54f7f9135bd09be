// Package health tells who is alive, from signs of life seen by our own clock, and when that next
// changes.
//
// # Local time
//
// A node's clock may be an hour off, or be set back while it runs. So a time written by another machine
// is only compared with the one it wrote before: when it differs, in either direction, that is a sign of
// life, and it happened when we saw it. A node whose clock steps back therefore stays alive. What must not pass for a
// sign of life is an old object seen again, as a relist from a stale cache shows it: an object whose
// resourceVersion is older than one seen before is ignored in whole, where the versions are numbers that can be
// compared. Our own clock may jump too: a clock that goes back stands still, and a Pass
// that comes more than a grace period late finds that we were the ones who slept, and lets all clocks
// start anew instead of condemning everybody.
//
// # Two layers
//
// Deadlines is the plain part, for any comparable key: Beat it, ask what is Expired and what is Next.
// Recording a beat is O(1) and allocates nothing; finding the expired costs what expired.
//
// Monitor is the Kubernetes part. It is told of Node objects and lease renewals and gives verdicts:
//
//	                 Ready condition    silent for              verdict
//	never reported   missing            startup grace, 60s      Unknown, NodeStatusNeverUpdated
//	alive            True or False      less than grace, 50s    what it reports
//	silent           any                monitor grace           Unknown, NodeStatusUnknown
//
// A renewal keeps a node from becoming Unknown; only its own status report makes it anything else again.
// UnknownConditions gives the conditions to write. A node is its UID: one that was deleted and created
// again starts afresh. The default grace of 50s is more than the 45s in which a kubelet's dead HTTP/2 connection
// is noticed.
//
// # Two grids
//
// With a NodeMonitorPeriod, 5s by default, heartbeats are noted at the pass that follows them and
// verdicts fall at passes, strictly after the grace, as upstream does. With 0 both are exact: noted on
// arrival, judged at the deadline. Next says when to call Pass; nobody needs to poll.
//
// All types are safe for concurrent use, start no goroutine and call nothing back.
package health
