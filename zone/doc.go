// Package zone decides how fast a failure domain may be evicted, from how many of its members are down.
//
//	zones, err := zone.New[string](zone.DefaultPolicy())
//	zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready}) // at each event
//	for _, change := range zones.Evaluate(clk.Now()) {                       // and now and then
//		queues[change.Zone].SetRate(rate.Limit(change.Rate))
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
// changed since the last call, once. So only one part of a program should evaluate and act. Others look at Zones.
//
// DisruptionPolicy does what kube-controller-manager does, with the same parameters and defaults (DefaultPolicy). The
// first line that applies decides:
//
//	members that count                  state              rate (members a second)
//	none ready, at least one not ready  FullDisruption     0.1
//	over 2 not ready, at least 55 %     PartialDisruption  0.01 when more than 50 count, else 0
//	otherwise, also without any         Normal             0.1
//
// While every zone is down, all rates are 0, whatever the policy says.
//
// A zone is Initial, at rate 0, until it is evaluated for the first time. Your own policy is one function from a
// Situation to a Ruling. It can take the ruling of DisruptionPolicy and make it stricter. A zone that empties and fills
// again between two evaluations counts as never gone. One that comes and goes between two has a Change: Gone, from
// Initial.
//
// Three questions stay apart. Which members count? All but the Excluded ones. Which of them are bad? Those that are not
// Ready. Which may be acted on? That is up to the caller, who may well evict an excluded member.
//
// Every zone is down when at least one zone has a counted member and every such zone is in FullDisruption. With
// DisruptionPolicy, a single ready member anywhere ends that. When it begins and when it ends, every zone has a Change.
// The caller does the rest: lift taints, restart the heartbeat clocks.
//
// # Time
//
// A Tracker reads no clock: Evaluate and Next are given a reading, and both move its time on. Only AskAfter depends on
// that time. If two readings have a monotonic part, setting the wall clock means nothing, and the later one counts.
// Otherwise a step forward from the last reading counts as time passed. A step back counts as no time, and so does
// one of 292 years. In all, 292 years can pass.
//
// # What goes wrong, and what it costs
//
// A policy that panics ends Evaluate, which then has changed nothing but the time. The next one starts over. A member's
// key that cannot be hashed panics in its caller and changes nothing. So does Set with one that does not equal itself
// (NaN). While Evaluate asks a policy, it holds no lock that other methods need. What is Set or Removed meanwhile
// counts in the next evaluation. But an empty zone that has a member by then is not gone.
//
// Evaluate returns at once if no AskAfter has passed, and no member came, went, or changed its zone, Ready or Excluded,
// even back again, since the Evaluate before. Otherwise it asks about every zone once, however many members they have.
//
// # Where it comes from
//
// ComputeZoneState and handleDisruption of k8s.io/kubernetes/pkg/controller/nodelifecycle. Here all rates are computed
// again whenever a member has changed. So a partially disrupted zone that crosses the size threshold gets its new rate,
// and a new zone that ends the all-down state also frees the old ones.
package zone
