// Package zone answers how fast a failure domain may be evicted, and what becomes of evictions that are
// pending there, from how many of its members are down.
//
// Nodes fail one by one, and then somebody deletes their pods, so that they start elsewhere. But when half of a
// zone is down at once, the likely cause is a broken network or an overloaded observer, and deleting at full
// speed would move the load onto what is left. And when every zone is down, it is the observer who is cut off, and
// nothing should be done at all. This package keeps the counts and draws these lines. It knows no node, reads
// no clock but the one it is given, and writes nothing.
//
// # Model
//
// A [Tracker] knows members by key (a node's name, a machine's, a cluster's), each in one failure domain.
// [Tracker.Set] says where a member is and whether it is ready, [Tracker.Remove] forgets it, and both only adjust
// counts. [Tracker.Evaluate] asks the [Policy] and returns what changed since the last call: the [State] of a
// domain, its rate, or what becomes of what is [Pending] there. A domain appears with its first member and goes with
// its last.
//
//	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
//	zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready})
//	for _, change := range zones.Evaluate() {
//		queues[change.Zone].SetRate(change.Rate)
//	}
//
// The domains of [NewTracker] are Kubernetes zones: a [Key] holds the region and the zone that [KeyOf] reads from a
// node's labels. [New] makes a tracker of domains of any other kind, such as node pools, racks or health checks, which
// may each have a policy of their own.
//
// Only one part of a program should evaluate and act. Others follow it with a [Reader], which takes nothing away.
//
// # States and rates
//
// [DisruptionPolicy] is what kube-controller-manager does, with its parameters and their defaults
// ([DefaultPolicy]). The first line that holds decides:
//
//	members of the domain               state              rate (members a second)                  pending
//	every domain of the cluster is full FullDisruption     0, whatever the policy says              Cancel
//	none ready, at least one is not     FullDisruption     0.1, or FullDisruptionRate               GoOn
//	more than 2, at least 55 % not      PartialDisruption  0.01 when more than 50 count, else 0     GoOn
//	otherwise, and with none that count Normal             0.1                                      GoOn
//
// A domain is Initial, at rate 0, until it is evaluated for the first time.
//
// A policy of your own is one pure function, which gets a [Situation] and gives a [Ruling]. It may look at the domain's
// counts and at those of the whole cluster, at the state so far and for how long the domain has had it, at how
// long members have been bad, and at the time. It can take the ruling of DisruptionPolicy and make it stricter;
// the examples do.
//
// Three questions are kept apart. What counts: all members but those that are Excluded ([Excluded] reads
// Kubernetes' label). What counts as bad: those not Ready, whether they are known to be down or nothing is known of
// them. What may be acted on: the caller's affair; an excluded member may well be evicted.
//
// # Every zone down
//
// The cluster is all down when at least one domain has a counted member and every such domain is in
// FullDisruption. Domains without a counted member do not decide, but share rate 0 and Cancel. A single ready
// member anywhere, also one that has just joined in a domain of its own, ends it, and so does the last
// counted member leaving. Entering and leaving return a [Change] for every domain, marked in
// Change.Cluster; what else they ask for (lifting taints, restarting the heartbeat clocks) the caller
// does.
//
// # Time
//
// Ages are elapsed time by the clock given to New. Where its readings have a monotonic part, as those of the real
// clock have, setting the wall clock changes none of them. Where they have not, forward is time, and back means that
// none passed. Each operation that reads the clock has a twin with At in its name that takes the reading instead. A
// [Snapshot] holds ages and remaining times; restored by another process, on another clock, the tracker decides as if
// its clock had stood still meanwhile.
//
// Nobody needs to poll. Counts change by Set and Remove, so evaluate after them; and where a ruling can change by
// time alone, the policy says when, and [Tracker.Next] passes it on. With DisruptionPolicy that is never.
//
// # Differences from kube-controller-manager
//
// The rates of all zones are set anew whenever the counts changed, so a zone that stays partially
// disrupted but crosses the size threshold gets its new rate, and a new zone that ends the all-down
// state frees the old ones with it; kube-controller-manager does neither. A zone of nothing but excluded members is
// Normal instead of being made anew in every pass, and one that empties and fills again between two
// evaluations was never gone. A member that changes zone is counted once, in the new one.
//
// # Cost and concurrency
//
// Set and Remove cost O(1). Evaluate costs what changed with DisruptionPolicy; other policies are asked about every
// domain when any count changed. Without a change it only looks whether there is one. No operation depends on the
// number of members but [Tracker.Snapshot] and [Tracker.Restore]. All methods are safe for concurrent use, and none
// calls the policy while it holds the lock that the others need.
package zone
