// Package zone decides how fast a failure domain may be evicted, from how many of its members are down.
//
//	zones, err := zone.New[string](zone.DefaultPolicy())
//	zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready}) // at each event
//	for _, change := range zones.Evaluate(clk.Now()) {                       // and now and then
//		queues[change.Zone].SetRate(change.Rate)
//	}
//
// When a node fails, a controller deletes its pods so that they start elsewhere. But when half of a zone fails at once,
// the likely cause is a broken network or an overloaded observer. Then evicting at full speed would only move the load
// onto the remaining nodes. And when every zone is down, it is the observer that is cut off, and it should do nothing
// at all.
//
// # Model
//
// A Tracker knows members by key, each in one zone. Members are nodes, machines or clusters. A zone is any failure
// domain: a Kubernetes zone, a rack, a pool. Set and Remove adjust counts. Evaluate asks the Policy and returns what
// changed since the last call. A zone appears with its first member and disappears with its last. Only one part of a
// program should evaluate and act, because Evaluate returns each change once. Others look at Zones.
//
// DisruptionPolicy does what kube-controller-manager does, with the same parameters and defaults (DefaultPolicy). The
// first line that applies decides:
//
//	members of the zone                 state              rate (members a second)
//	every zone that counts is down      FullDisruption     0, whatever the policy says
//	none ready, at least one not ready  FullDisruption     0.1
//	over 2, at least 55 % not ready     PartialDisruption  0.01 when more than 50 count, else 0
//	otherwise, and with none that count Normal             0.1
//
// A zone is Initial, at rate 0, until it is evaluated for the first time. Your own policy is one function from a
// Situation to a Ruling. It can take the ruling of DisruptionPolicy and make it stricter. A zone that empties and fills
// again between two evaluations counts as never gone.
//
// Three questions stay apart. Which members count? All but the Excluded ones. Which of them are bad? Those that are not
// Ready. Which may be acted on? That is up to the caller, who may well evict an excluded member.
//
// Every zone is down when at least one zone has a counted member and every such zone is in FullDisruption. That ends
// when one of them leaves FullDisruption, or when the last counted member goes. With DisruptionPolicy, a single ready
// member anywhere is enough. When it begins and when it ends, Evaluate returns a Change for every zone, and AllDown
// differs from before. The caller does the rest: lift taints, restart the heartbeat clocks.
//
// # Time
//
// A Tracker reads no clock: Evaluate and Next take a reading. Only AskAfter depends on it, and what counts is elapsed
// time. If readings have a monotonic part, setting the wall clock means nothing. Without one, a step forward counts as
// time passed, and a step back as no time.
//
// # What goes wrong, and what it costs
//
// A policy that panics changes nothing; the next Evaluate starts over. A member's key that cannot be hashed, or does
// not equal itself (NaN), panics in its caller and changes nothing. While Evaluate asks a policy, it holds no lock that
// other methods need. What is Set meanwhile counts in the next evaluation.
//
// Evaluate returns at once if nothing changed. Otherwise it asks about every zone once, however many members they have.
//
// # Where it comes from
//
// ComputeZoneState and handleDisruption of k8s.io/kubernetes/pkg/controller/nodelifecycle. Here all rates are computed
// again whenever a count has changed. So a partially disrupted zone that crosses the size threshold gets its new rate,
// and a new zone that ends the all-down state also frees the old ones.
package zone
