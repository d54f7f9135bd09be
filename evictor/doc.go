// Package evictor is a node lifecycle controller as a library: node, pod and lease events go in; conditions, taints and
// evictions come out.
//
// Events only name what changed: NodeChanged, PodChanged and LeaseRenewed mark a key dirty. The evictor reads the
// current objects from the stores when it acts, decides, checks the decision once more, and writes through the small
// interfaces in Clients. Clients.Source feeds it or, without one, the program does; until the first event it decides
// nothing. Step does everything that is due now and says when to call it again. Run is a loop over the same code with
// workers. Every decision goes to the Observer with its reasons, and Explain returns those about one node or pod.
//
//	// On a cluster, with the package clientgo below this one:
//	cluster, err := clientgo.NewForConfig(config, clientgo.Options{})
//	if err != nil {
//		return err
//	}
//	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{
//		Logger:  slog.Default(),
//		MayHarm: func() error { return maintenance.Err() }, // asked before every taint and eviction; nil means yes
//	})
//	if err != nil {
//		return err // names every fault in the configuration, the clients and the options
//	}
//	http.HandleFunc("/why", func(w http.ResponseWriter, r *http.Request) {
//		fmt.Fprintln(w, e.Explain(r.FormValue("pod")))
//	})
//	return e.Run(ctx) // or call Step
//
// # What happens to a node that fails
//
//  1. No heartbeat is seen for NodeMonitorGracePeriod. The node's verdict becomes Unknown, the four kubelet conditions
//     are written, its pods are marked not Ready, and NoSchedule taints follow the conditions.
//     With Clients.Confirmer, somebody is asked first, because heartbeats may get lost on their way: see "Suspects".
//  2. It waits in its zone's queue. The zone's state gives the rate: NodeEvictionRate, SecondaryNodeEvictionRate or 0.
//     While every zone is fully disrupted, no node is tainted, and our NoExecute taints are lifted.
//  3. Its turn comes, and it is tainted NoExecute. Pods leave as their tolerations end.
//  4. It reports Ready. Pending evictions are cancelled in memory; then its taints are lifted in one write.
//
// Who begins to watch waits first: what had failed before a start, or before an observer that was blind saw again, is
// neither tainted nor emptied before it has been watched for one whole grace period.
//
// Without TaintBasedEviction a node joins the queue only after PodEvictionTimeout, and its turn deletes its pods.
//
// What keeps a pod where it is: WHY.md, beside this package, has all that can stop or delay an eviction, who says so, until
// when, and how it shows. Explain names most of it.
//
// Config.Half runs half of this: only the part that taints nodes, or only the part that evicts pods from tainted nodes.
//
// # Suspects
//
// Clients.Confirmer says of a silent node whether it lives; package clientgo reads the node's lease from the API
// server. Until there is an answer the node is a suspect: it counts in its zone and in the budget as before.
//
//	Alive        a heartbeat: the node lives on (SuspectAlive)
//	Silent       its verdict becomes Unknown, in the Step that found it silent; under Run, when the answers have come
//	Unanswered   it waits, and is asked about again with backoff (SuspectUnanswered)
//
// A suspect that nobody can answer for is never tainted. So unanswered questions show: Suspects and NodeStatus have
// the reason, Backlogs their number and age, and the log a warning. Only silent nodes are asked about, and nothing is
// locked meanwhile. A node that was Unknown before, by an earlier process or before all clocks restarted, is asked
// about again before its pods are evicted. The half TaintEviction asks nobody: it reaches no verdicts.
//
// # Permissions
//
// MayWrite (leadership) stops every write. MayHarm, Pause and SetObserverHealth stop only new taints and evictions;
// recovery is never blocked. MayHarmIn does the same in one failure domain. What the zone policy says
// about pending evictions (zone.Pending) applies only to evictions by our own taints. The strictest answer wins.
// DryRun decides everything and writes nothing. Hold spares one node, at once, but not from the taints of others.
//
// MayEvict is asked last, before each eviction of a pod, and refuses that one alone: the program knows of missing room
// elsewhere, or of a bad hour. It names the time at which to ask again, or is asked less and less often. Neither the
// node's turn nor its other pods wait for a refused one. Together names the pods that go with one: everybody is asked
// about each of them first, and then all leave at one instant.
//
// Options.Budget says how many nodes may be acted on, in groups of any kind: see package budget, below this one. It is
// asked before each turn. A refusal costs the domain no token, and the node asks again. Nodes that an earlier process
// tainted count. Options.Exceeded lets a bound that is exceeded hold back or cancel what is pending.
//
// # When the API server fails
//
// A write fails because of the API server if it cannot be reached, does not answer in time, has an internal error or is
// overloaded. Such a write is retried with a backoff that grows up to RetryMax. Beside that, one of the failed writes
// is tried every monitor period, with jitter, to find out when the API server is back. Once it answers anything, all of
// them are retried at once, within the workers and the client's rate limit.
//
// An answer about one object is no outage. After a conflict the object is read and tried again within seconds. A
// disruption budget is asked again after growing delays. What is forbidden, invalid or refused by a webhook keeps its
// backoff.
//
// # What it does not do
//
// It does not collect the pods of deleted nodes (PodGC does), force-delete pods that a dead kubelet cannot finish, or
// move pods for balance (a descheduler does). It evicts nothing that the API objects do not justify.
//
// # Bad input
//
//   - A node without labels is in the zone with the empty key.
//   - A node without conditions counts as not ready, and is Unknown after the start-up grace period. That runs from its
//     creation or, without a plausible one, from when the node was first seen; from our start if it was there before.
//   - Two nodes, or two pods, of the same name count as the same object if both have an empty UID.
//   - A taint with an unknown effect is left alone.
//   - A toleration with Exists ignores its value. tolerationSeconds of 0 or less means evict at once; seconds that do
//     not fit a time.Duration mean the longest one.
//   - A pod on a node that does not exist is ignored until the node appears.
//   - Events may come out of order and twice.
//   - When a clock without monotonic readings is set back, no time passes, and it counts on from there. When it jumps
//     ahead by more than a grace period, or the process sleeps for longer, all heartbeat clocks restart: nobody was
//     heard, which is no silence. See "Listening" in package health.
//
// # Wrong use
//
// New names every fault of the configuration, the clients and the options at once. Step and Run return an error when
// they are called side by side, without a context, or on an Evictor that New did not make; Run also when the clock has
// no timers or the source ends. While something is missing before the first decision, the decision Awaiting says what.
// Each package has a table of wrong uses and of what they are answered with, in its misuse_test.go. Some mistakes have
// no answer, because nothing tells them from right use:
//
//   - A function of Options that is called with the evictor's lock held calls the evictor: it waits for ever.
//   - Two evictors act on one cluster, and neither has a MayWrite that asks who leads.
//   - A program without a Source reports nodes, and not the renewals of their leases. A kubelet may report its status
//     only every five minutes, and its node looks silent in between.
//   - The error of New is ignored: every method of a nil pointer panics, as in any Go program.
//
// # Differences from upstream
//
// Where this package deliberately decides otherwise than kube-controller-manager, and nodepressure otherwise than the
// kubelet, DIFFERENCES.md at the top of the repository has a row with the reason and its test.
package evictor
