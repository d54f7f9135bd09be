// Package zone answers how fast a failure domain may be evicted, from how many of its members are down.
//
// One dead node is a dead node. Half a zone dead is more likely a broken network or an overloaded
// observer, and evicting at full speed would move the load onto what is left. All zones dead at once
// says that the observer is cut off, and then nothing at all should be done. This package keeps the
// counts and draws that line; it holds no node, reads no clock and writes nothing.
//
// # Model
//
// A [Tracker] knows members by key (a node's name, a cluster's), each in one zone ([Key], read from
// labels by [KeyOf]). [Tracker.Set] says where a member is and whether it is ready, [Tracker.Remove]
// forgets it, and both only adjust counts. [Tracker.Evaluate] asks the [Policy] and returns what
// changed since the last call: a zone's [State], its rate, or both. A zone appears with its first
// member and goes with its last.
//
//	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
//	zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready})
//	for _, change := range zones.Evaluate() {
//		queues[change.Zone].SetRate(change.Rate)
//	}
//
// # States and rates
//
// [DisruptionPolicy] is what kube-controller-manager does, with its parameters and their defaults
// ([DefaultPolicy]). The first line that holds decides:
//
//	members of the zone                     state              rate (nodes a second)
//	every zone of the cluster is full       FullDisruption     0, whatever the policy
//	none ready, at least one is not         FullDisruption     0.1, or FullDisruptionRate
//	more than 2 and at least 55 % not ready PartialDisruption  0.01 when more than 50 count, else 0
//	otherwise, and with none that counts    Normal             0.1
//
// A zone is Initial, at rate 0, until it is evaluated for the first time.
//
// Three questions are kept apart. What counts: all members but those that are Excluded ([Excluded]
// reads the label). What counts as bad: those not Ready, whether they are known to be down or nothing
// is known of them. What may be acted on: the caller's affair; an excluded member may well be evicted.
//
// # Every zone down
//
// The cluster is all down when at least one zone has a counted member and every such zone is in
// FullDisruption. Zones without a counted member do not decide, but share the rate 0. A single ready
// member anywhere, also one that has just joined in a zone of its own, ends it, and so does the last
// counted member leaving. Entering and leaving return a [Change] for every zone, marked in
// Change.Cluster; what else they ask for (lifting taints, restarting the heartbeat clocks) the caller
// does.
//
// # Differences from upstream
//
// The rates of all zones are set anew whenever the counts changed, so a zone that stays partially
// disrupted but crosses the size threshold gets its new rate, and a new zone that ends the all-down
// state frees the old ones with it; upstream does neither. A zone of nothing but excluded members is
// Normal instead of being made anew in every pass, and one that empties and fills again between two
// evaluations was never gone. A member that changes zone is counted once, in the new one.
//
// # Cost and concurrency
//
// Set and Remove cost O(1) and Evaluate O(zones); without a change Evaluate only looks at two numbers.
// No operation depends on the number of members but [Tracker.Snapshot] and [Tracker.Restore]. All
// methods are safe for concurrent use, and none calls the policy while it holds the lock that the
// others need.
package zone
