// Package evictkit is the eviction machinery of Kubernetes as a library: what kube-controller-manager does when nodes
// fail, and what the kubelet does when its node runs short of resources. It comes in small packages that you import one
// by one, without k8s.io/kubernetes.
//
//	leases, node status -> health -- who is alive --> zone -- state, rate per zone -+
//	                         |                                                      v
//	                         +-- failed nodes ---------------> ratelimitqueue (one a zone), paced
//	                                                                                |
//	conditions, cordons ----> taints -- which taints --> evictor writes them ◀------+
//	                                                             | seen again as node events
//	pods, tainted nodes ----> taints -- for how long tolerated --> timedworker --> evictor evicts the pod
//
// Which package answers which question:
//
//   - zone: how disrupted is each failure domain, and how fast may it be evicted?
//   - health: who is alive, by our own clock, and when does that next change?
//   - ratelimitqueue: what is due next, no faster than a rate that may change at any moment?
//   - timedworker: how do I run one piece of work per key when it is due, and know whether a cancel was in time?
//   - taints: which taints should this node have, and how long does this pod tolerate them?
//   - evictor/nodelifecycle: which nodes have failed, and which is tainted next? Node lifecycle alone.
//   - evictor/tainteviction: which pods must leave tainted nodes, and when? Taint eviction alone.
//   - evictor: both halves together, behind small interfaces. DIFFERENCES.md lists each difference from upstream, with
//     its reason and its test.
//   - evictor/cluster: which interfaces do the halves need of a cluster, for clients of your own?
//   - evictor/gate: may this be done now? Who leads, a pause, a limit, a calendar.
//   - evictor/explain: why was that decided? Texts, a log, and a memory.
//   - evictor/dryrun: what would be done, without any write?
//   - evictor/together: who leaves with this pod, because neither is of use alone? Evicts whole groups.
//   - evictor/maintenance: was this silence announced? Spares such nodes.
//   - evictor/leases: is a silent node alive after all? Reads its lease live.
//   - evictor/clientgo, a separate module: how does it run on a real cluster, with client-go?
//   - evictor/manager, a separate module: how does it run beside reconcilers, with controller-runtime?
//   - evictor/budget: may I act on one more, within any number of bounds over pools, racks or zones? Its package guard
//     makes an evictor keep to it.
//   - evictor/compat, a separate module: upstream's names for its queues and timed workers, for forks that migrate.
//   - evictor/defaults: which settings did another version of Kubernetes have?
//   - evictor/nodepressure: is this node short of memory, disk or process IDs, and which pod goes first? Its package
//     summary reads what the kubelet measures.
//   - evictor/evictortest: how do I test my controller in virtual time?
//   - evictor/simulation: what would my cluster do, with these settings, another policy, or my controller?
//
// zone, health, ratelimitqueue and taints start no goroutine, do no I/O and log nothing. timedworker, evictor and the
// Manager of evictor/nodepressure start goroutines only inside Run. All of them read time only from the clock that you
// give them.
package evictkit
