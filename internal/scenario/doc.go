// Package scenario defines what a scenario file says, which faults it can have, and the lines of the timeline that a
// simulation writes. It reads no files and no YAML, so that every module can use it. The code that loads a file decodes
// it into a Scenario (the fields have yaml tags, Duration decodes from text), calls Check for all faults at once, and
// passes Settings and the Scenario to an engine.
//
//	scenario file -- decode --> Scenario -- Check(inventory) --> Settings, Plan, Traces --> engine
//	                                                                                             |
//	timeline file <-- AppendJSON -- sort by Compare <------------------------------- Line <------+
//
// # Rules
//
// SCENARIO.md in examples/scenariofile defines the formats for people. The rules are those of Kubernetes:
//
//	generated pods         tolerate not-ready and unreachable for 300s; tolerationSeconds: none for nothing
//	who comes back         deleted pods of any owner but DaemonSets, also when their node is deleted; no mirror and
//	                       no bare pods
//	when (and then after)  when the deletion begins; of a StatefulSet when the object is gone, under its own name: on
//	                       a silent node once the kubelet is back, the node is deleted, or forceDelete removes it
//	where                  a node that is Ready and not cordoned, or whose taint for that is tolerated, as its other
//	                       taints are; it matches nodeSelector, required node and pod affinity and anti-affinity, and
//	                       has the requests left; the least allocated, first by name
//	who finds no node      is Pending, and tried again when something changes
//	an API that is down    fails the calls of the evictor and of kubelets, unless it says for whom
//	budgets                drains ask, and the evictor with useEvictionAPI
//	a timeline tells       settings, events, what was done, placements, and why
//
// Pods come back only with reschedule. The room of a node is status.allocatable (or else capacity) minus the requests
// of the pods that have not finished, including terminating ones: cpu, memory, ephemeral-storage, pods, and extended
// resources. If a node does not state one of the first four, it has no limit; it does not have an extended resource
// that it does not state. A node that states nothing at all, such as a generated one, has room for everything. The
// least allocated node has the least mean of the requested shares of CPU and memory; as in the scheduler, a pod counts
// as at least 100m and 200Mi. For a node that states nothing, it is the number of its pods (without terminating ones
// and DaemonSets') divided by 110. A node may be overcommitted at time 0, but then gets no further pods. Host ports,
// required topology spread, bound volumes and the limits of Jobs count as the page SCENARIO.md says. Priorities, claims
// that are not bound, resource claims, and labels of namespaces except the name play no part: the report counts and
// names those in files. Deletions ignore PodDisruptionBudgets; the report says for how long fewer pods lived.
//
// # Expectations
//
// Under expect a scenario sets bounds for figures of its result, or of one zone, workload or budget:
// at least and at most, both inclusive. Durations are in seconds, and may be written as 20m. A workload is
// namespace/kind/name, where the ReplicaSets of a Deployment count as the Deployment; a budget is namespace/name, a
// zone region:zone.
//
//	expect:
//	- {figure: needlessEvictions, atMost: 0}
//	- {figure: lowestReadyShare, workload: shop/Deployment/cart, atLeast: 0.5}
//
// An eviction is needless if its node is back within ten minutes after it. It is lost if it was overdue for a minute
// and had not happened when the node was back, the taint gone, or the simulation over. A pod-hour is lost when a pod
// that a controller wants has no live node for an hour.
//
// Nothing here is safe for concurrent changes, but reading from several goroutines is.
package scenario
