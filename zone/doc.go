// Package zone decides, from how many members of a failure domain are down, how fast the domain may be evicted and
// what happens to evictions that are pending there.
//
//	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
//	zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready}) // at each event
//	for _, change := range zones.Evaluate() {                                // and now and then
//		queues[change.Zone].SetRate(change.Rate)
//	}
//
// When a node fails, its pods are deleted so that they start elsewhere. But when half of a zone fails at once, the
// likely cause is a broken network or an overloaded observer, and evicting at full speed would only move the load onto
// the nodes that are left. And when every zone is down, it is the observer that is cut off, and it should do nothing
// at all.
//
// # Model
//
// A Tracker knows members by key (the name of a node, a machine or a cluster), each in one failure domain. Set and
// Remove adjust counts. Evaluate asks the Policy and returns what changed since the last call: the State of a domain,
// its rate, what happens to its pending evictions (Pending), or of how many silent members the dependents go
// (MaxMarked). A domain appears with its first member and goes away with its last. NewTracker is for Kubernetes zones;
// New is for any other kind of domain, such as node pools, racks or clusters, each of which may have its own policy.
// Only one part of a program should evaluate and act, because each change is returned once; others look at Zones.
//
// DisruptionPolicy does what kube-controller-manager does, with the same parameters and defaults (DefaultPolicy). The
// first line that applies decides:
//
//	members of the domain               state              rate (members a second)                  pending
//	every domain that counts is full    FullDisruption     0, whatever the policy says              Cancel
//	none ready, at least one is not     FullDisruption     0.1, or FullDisruptionRate               GoOn
//	more than 2, at least 55 % not      PartialDisruption  0.01 when more than 50 count, else 0     GoOn
//	otherwise, and with none that count Normal             0.1                                      GoOn
//
// A domain is Initial, at rate 0, until it is evaluated for the first time. Your own policy is one pure function from
// a Situation to a Ruling; it can take the ruling of DisruptionPolicy and make it stricter.
//
// Three questions are kept apart. Which members count? All but the Excluded ones. Which of them are bad? Those that
// are not Ready. Which may be acted on? That is up to the caller; an excluded member may well be evicted.
//
// Every zone is down when at least one domain has a counted member and every such domain is in FullDisruption. That
// ends when one of them is not any more (with DisruptionPolicy, by a single ready member anywhere), or when the last
// counted member leaves. Entering and leaving return a
// Change for every domain, with Change.Cluster set. The caller does the rest: lift taints, restart the heartbeat
// clocks.
//
// Ages are elapsed time. Setting the wall clock changes none, if readings have a monotonic part; without it, forward
// is time passed and back is no time passed. Nobody needs to poll: if time alone can change a ruling, Next says when.
//
// # What goes wrong
//
// A policy that panics changes nothing; the next Evaluate starts over. No lock that other methods need is held while
// it is asked. Set and Remove are O(1), and Evaluate costs what changed, but O(n) in the number of domains when one
// comes or goes, and when a policy of your own is asked. A member or domain that cannot be hashed, or does not equal
// itself (NaN), panics in its caller and changes nothing. What is Set while a policy is asked counts in the next
// evaluation. A break in BadFor that ends before the next evaluation is not seen.
//
// # Where it comes from
//
// ComputeZoneState and handleDisruption of k8s.io/kubernetes/pkg/controller/nodelifecycle. Here the rates of all zones
// are computed again whenever a count changed: a zone that stays partially disrupted but crosses the size threshold
// gets its new rate, and a new zone that ends the all-down state also frees the old ones. A zone with only excluded
// members is Normal. A zone that empties and fills again between two evaluations was never gone.
package zone
