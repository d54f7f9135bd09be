// Package zone decides, from how many members of a failure domain are down, how fast the domain may be evicted and
// what happens to evictions already pending there.
//
// When a node fails, its pods are deleted so that they start elsewhere. But when half of a zone fails at once, the
// likely cause is a broken network or an overloaded observer, and evicting at full speed would only move the load
// onto the nodes that are left. And when every zone is down, it is the observer that is cut off, and it should do
// nothing at all. This package keeps the counts and draws these lines. It does not know what a node is, reads no
// clock but the one it is given, and writes nothing.
//
// # Model
//
// A [Tracker] knows members by key (the name of a node, a machine or a cluster). Each member is in one failure
// domain. [Tracker.Set] says where a member is and whether it is ready; [Tracker.Remove] forgets it. Both only adjust
// counts. [Tracker.Evaluate] asks the [Policy] and returns what changed since the last call: the [State] of a domain,
// its rate, or what happens to its pending evictions ([Pending]). A domain appears with its first member and goes
// away with its last.
//
//	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
//	zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready})
//	for _, change := range zones.Evaluate() {
//		queues[change.Zone].SetRate(change.Rate)
//	}
//
// [NewTracker] makes a tracker of Kubernetes zones: a [Key] holds the region and the zone that [KeyOf] reads from a
// node's labels. [New] makes a tracker of any other kind of domain, such as node pools, racks or health checks. Each
// domain may have its own policy.
//
// Only one part of a program should evaluate and act: each change is returned once. Others look at [Tracker.Zones].
//
// # States and rates
//
// [DisruptionPolicy] does what kube-controller-manager does, with the same parameters and defaults
// ([DefaultPolicy]). The first line that applies decides:
//
//	members of the domain               state              rate (members a second)                  pending
//	every domain of the cluster is full FullDisruption     0, whatever the policy says              Cancel
//	none ready, at least one is not     FullDisruption     0.1, or FullDisruptionRate               GoOn
//	more than 2, at least 55 % not      PartialDisruption  0.01 when more than 50 count, else 0     GoOn
//	otherwise, and with none that count Normal             0.1                                      GoOn
//
// A domain is Initial, at rate 0, until it is evaluated for the first time.
//
// Your own policy is one pure function from a [Situation] to a [Ruling]. It sees the counts of the domain and of the
// whole cluster, the domain's state so far and how long it has lasted, how long members have been bad, and the time.
// It can take the ruling of DisruptionPolicy and make it stricter, as the examples do.
//
// Three questions are kept apart. Which members count? All but the Excluded ones ([Excluded] reads Kubernetes'
// label). Which of them are bad? Those that are not Ready, whether they are known to be down or nothing is known about
// them. Which may be acted on? That is up to the caller; an excluded member may well be evicted.
//
// # Every zone down
//
// The cluster is all down when at least one domain has a counted member and every such domain is in FullDisruption.
// Domains without a counted member have no vote, but they get rate 0 and Cancel too. It ends with a single ready
// member anywhere, even one that has just joined in a new domain, or when the last counted member leaves. Entering
// and leaving return a [Change] for every domain, with Change.Cluster set. The caller does the rest: lift taints,
// restart the heartbeat clocks.
//
// # Time
//
// Ages are elapsed time by the clock given to New. When its readings have a monotonic part, as the real clock's do,
// setting the wall clock changes no age. Without it, a clock that jumps forward counts as time passed, and one that
// goes back counts as no time passed. Each operation that reads the clock has a twin with At in its name, which takes
// the reading as an argument.
//
// Nobody needs to poll. Set and Remove change counts, so evaluate after them. If time alone can change a ruling, the
// policy says when, and [Tracker.Next] returns that instant. DisruptionPolicy never needs this.
//
// # Differences from kube-controller-manager
//
// The rates of all zones are computed again whenever a count changed. So a zone that stays partially disrupted but
// crosses the size threshold gets its new rate, and a new zone that ends the all-down state also frees the old zones.
// kube-controller-manager does neither. A zone with only excluded members is Normal; there it is made anew in every
// pass. A zone that empties and fills again between two evaluations was never gone. A member that changes zone counts
// once, in the new zone.
//
// # Cost and concurrency
//
// Set and Remove are O(1). With DisruptionPolicy, Evaluate costs what changed; other policies are asked about every
// domain when any count changed. If nothing changed, Evaluate only finds that out. All methods are safe for concurrent
// use, and the policy is never called under the lock that the other methods need.
package zone
