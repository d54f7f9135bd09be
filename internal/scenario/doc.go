// Package scenario holds what a scenario file says, what makes one faulty, and the lines of the timeline
// that a simulation of it writes. It reads no files and no YAML, so that every module can use it: who
// loads a file decodes it into a Scenario (the fields carry yaml tags, Duration decodes from text), asks
// Check for all faults at once, and hands Settings and the Scenario to an engine.
//
//	scenario file -- decode --> Scenario -- Check(inventory) --> Settings, Events, Traces --> engine
//	                                                                                             |
//	timeline file <-- AppendJSON -- sort by Compare <------------------------------- Line <------+
//
// # Editions
//
// A scenario's edition says which defaults and rules hold; a file that says nothing has edition 2. Edition 1 is
// for what was recorded before: under it a timeline stays the same byte for byte.
//
//	                       edition 1                            edition 2
//	grace                  40s                                  50s
//	generated pods         tolerate nothing                     tolerate not-ready and unreachable for 300s;
//	                                                            tolerationSeconds: none for nothing
//	who comes back         evicted pods of any owner            deleted pods of any owner but DaemonSets, also when
//	                       but DaemonSets                       their node is deleted; no mirror and no bare pods
//	when (and then after)  at the eviction                      when the deletion begins; of a StatefulSet when the
//	                                                            object is gone, under its own name: on a silent node
//	                                                            once the kubelet is back, the node is deleted, or
//	                                                            forceDelete removes it
//	where                  Ready, not cordoned, tolerated,      the same, and it matches nodeSelector, required node
//	                       the fewest pods, first by name       and pod affinity and anti-affinity, and has the
//	                                                            requests left; the least allocated, first by name
//	who finds no node      is tried again at each pass          is Pending, and tried again when something changes
//
// With reschedule only: without it nobody comes back. Room is status.allocatable (else capacity) less the requests of
// the pods that have not finished, terminating ones included: cpu, memory, ephemeral-storage, pods, and extended
// resources. Of the first four, what a node does not say is no limit; an extended resource it does not say is not
// there. A node that says nothing at all has room for everything, as generated ones have. The least allocated node is
// that with the least mean of the shares of CPU and memory requested, where a pod counts at least as 100m and 200Mi,
// as the scheduler has it; of a node that says nothing, its pods (but terminating and DaemonSet's) divided by 110. A
// node may hold more than it has at time 0; nobody else is let in. Priorities, volumes, host ports, topology spread,
// resource claims, labels of namespaces but their name, and PodDisruptionBudgets play no part: the report counts and
// names what files hold of them.
//
// Nothing here is safe for concurrent changes; reading from several goroutines is.
package scenario
