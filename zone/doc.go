// Package zone decides how fast a failure domain may be evicted, from how many of its members are down.
//
//	zones, err := zone.NewTracker[string](zone.DefaultPolicy())
//	zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready}) // at each event
//	for _, change := range zones.Evaluate() {                                // and now and then
//		queues[change.Zone].SetRate(change.Rate)
//	}
//
// When a node fails, a controller deletes its pods so that they start elsewhere. But when half of a zone fails at once,
// the likely cause is a broken network or an overloaded observer, and evicting at full speed would only move the load
// onto the remaining nodes. And when every zone is down, it is the observer that is cut off, and it should do nothing
// at all.
//
// # Model
//
// A Tracker knows members by key (the name of a node, a machine or a cluster), each in one failure domain. Set and
// Remove adjust counts. Evaluate asks the Policy and returns what changed since the last call: the State of a
// domain or its rate. A domain appears with its first member and disappears with its last. NewTracker is for
// Kubernetes zones; New is for any other kind of domain, such as node pools, racks or clusters, each of which may
// have its own policy. Evaluate returns each change once, so only one part of a program should evaluate and act;
// others look at Zones.
//
// DisruptionPolicy does what kube-controller-manager does, with the same parameters and defaults (DefaultPolicy). The
// first line that applies decides:
//
//	members of the domain               state              rate (members a second)
//	every domain that counts is down    FullDisruption     0, whatever the policy says
//	none ready, at least one not ready  FullDisruption     0.1, or FullDisruptionRate
//	over 2, at least 55 % not ready     PartialDisruption  0.01 when more than 50 count, else 0
//	otherwise, and with none that count Normal             0.1
//
// A domain is Initial, at rate 0, until it is evaluated for the first time. Your own policy is one pure function from
// a Situation to a Ruling; it can take the ruling of DisruptionPolicy and make it stricter.
//
// Three questions stay apart. Which members count? All but the Excluded ones. Which of them are bad? Those that are not
// Ready. Which may be acted on? That is up to the caller, who may well evict an excluded member.
//
// Every zone is down when at least one domain has a counted member and every such domain is in FullDisruption. That
// ends when one of them leaves FullDisruption (with DisruptionPolicy, a single ready member anywhere is enough), or
// when the last counted member goes. When it begins and when it ends, Evaluate returns a Change for every domain, with
// Change.Cluster set. The caller does the rest: lift taints, restart the heartbeat clocks.
//
// Ages are elapsed time. Setting the wall clock changes none, if readings have a monotonic part; without one, a step
// forward counts as time passed, and a step back as no time. Nobody needs to poll: if time alone can change a ruling,
// Next says when.
//
// # What goes wrong
//
// A policy that panics changes nothing; the next Evaluate starts over. While Evaluate asks a policy, it holds no lock
// that other methods need; what is Set meanwhile counts in the next evaluation. Set and Remove are O(1). The cost of
// Evaluate grows with what changed; it is O(n) in the number of domains when one comes or goes, and whenever it asks a
// policy of your own. A member or domain that cannot be hashed, or does not equal itself (NaN), panics in its caller
// and changes nothing. BadFor does not notice a break that begins and ends between two evaluations.
//
// # Where it comes from
//
// ComputeZoneState and handleDisruption of k8s.io/kubernetes/pkg/controller/nodelifecycle. Here a Tracker computes the
// rates of all zones again whenever a count has changed: a zone that stays partially disrupted but crosses the size
// threshold gets its new rate, and a new zone that ends the all-down state also frees the old ones. A zone with only
// excluded members is Normal. A zone that empties and fills again between two evaluations counts as never gone.
package zone
