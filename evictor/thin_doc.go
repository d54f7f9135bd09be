//go:build thin

// Package evictor is a node lifecycle controller as a library: node, pod and lease events go in; conditions, taints and
// evictions come out.
//
// An event only names an object that has changed: NodeChanged, PodChanged and LeaseRenewed mark its key dirty. When the
// evictor acts, it reads the current objects from the stores, decides, checks the decision once more, and writes
// through the small interfaces in Clients. Clients.Source feeds it or, without one, the program does; until the first
// event it decides nothing. Step does everything that is due now and says when to call it again. Run is a loop over the
// same code with workers. The Observer gets every decision with its reasons, and Explain returns those about one node
// or pod.
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
//  1. The evictor sees no heartbeat for NodeMonitorGracePeriod. The node's verdict becomes Unknown. The evictor sets
//     the four kubelet conditions to Unknown, marks the node's pods not Ready, and adds NoSchedule taints by the
//     conditions. Before that it asks Clients.Confirmer, if there is one, because heartbeats may get lost on their way:
//     see "Suspects".
//  2. The node waits in its zone's queue. The zone's state gives the rate: NodeEvictionRate, SecondaryNodeEvictionRate
//     or 0. While every zone is fully disrupted, the evictor taints no node and lifts its NoExecute taints.
//  3. The node's turn comes: the evictor taints it NoExecute, and evicts each pod when its toleration ends.
//  4. The node reports Ready. The evictor cancels pending evictions in memory, then lifts the taints in one write.
//
// An evictor that has just started, or that was blind and sees again, waits first: it neither taints nor empties a
// failed node before it has watched it for one whole grace period.
//
// Without TaintBasedEviction a node joins the queue only after PodEvictionTimeout, and its turn deletes its pods.
//
// What keeps a pod where it is: WHY.md, beside this package, lists all that can stop or delay an eviction, who says so,
// until when, and how it shows. Explain names most of it.
//
// Config.Half runs half of this: only the part that taints nodes, or only the part that evicts pods from tainted nodes.
//
// # Suspects
//
// Clients.Confirmer says whether a silent node is alive; that of package clientgo reads the node's lease from the API
// server. Until there is an answer, the node is a suspect: it counts in its zone and in the budget as before.
//
//	Alive        a heartbeat: the node lives on (SuspectAlive)
//	Silent       its verdict becomes Unknown, in the Step that found it silent; under Run, when the answers have come
//	Unanswered   it waits, and the evictor asks again with backoff (SuspectUnanswered)
//
// The evictor never taints a suspect without an answer. So it makes unanswered questions visible: Suspects and
// NodeStatus have the reason, Backlogs their number and age, and the log a warning. It asks only about silent nodes,
// with nothing locked. It asks again about a node that was Unknown before (by an earlier process, or before all clocks
// restarted) before it evicts pods from it. The half TaintEviction asks nobody: it reaches no verdicts.
//
// # Permissions
//
// MayWrite (leadership) stops every write. MayHarm, Pause and SetObserverHealth stop only new taints and evictions,
// never recovery. MayHarmIn does the same in one failure domain. The zone policy's word on pending evictions
// (zone.Pending) applies only to evictions by our own taints. The strictest answer wins. A DryRun decides everything
// and writes nothing. Hold spares one node, at once, but not from the taints of others.
//
// The evictor asks MayEvict last, before each eviction. It refuses that one eviction: because there is no room
// elsewhere, for example, or the hour is bad. Its refusal may name the time at which to ask again; otherwise the
// evictor asks less and less often. A refused pod holds back neither the node's turn nor its other pods. Together names
// the pods that must leave with a pod: the evictor first asks all permissions about each of them, then evicts all at
// one instant.
//
// Options.Budget limits how many nodes the evictor acts on, in groups of any kind: see package budget, below this one.
// The evictor asks it before each turn. A refusal costs the domain no token, and the evictor asks again. Nodes that an
// earlier process tainted count. Options.Exceeded lets an exceeded bound hold back or cancel pending evictions.
//
// # When the API server fails
//
// A write fails because of the API server if that cannot be reached, does not answer in time, has an internal error or
// is overloaded. The evictor retries such a write with a backoff that grows up to RetryMax. It also retries one of them
// every monitor period, with jitter, to find out when the API server is back. Once that answers anything, the evictor
// retries all of them at once, within the limits of the workers and of the client.
//
// An answer about one object is no outage. After a conflict, the evictor reads the object and tries again within
// seconds. It retries an eviction that a disruption budget refuses after growing delays. A write that is forbidden,
// invalid or refused by a webhook keeps its backoff.
//
// # What it does not do
//
// The evictor does not collect the pods of deleted nodes (PodGC does), force-delete pods that a dead kubelet cannot
// finish, or move pods for balance (a descheduler does). It evicts no pod unless the API objects justify it.
//
// # Bad input
//
//   - A node without labels is in the zone with the empty key.
//   - A node without conditions counts as not ready, and is Unknown after the start-up grace period. That runs from the
//     node's creation or, if that is not plausible, from when the evictor first saw the node; for a node that is older
//     than the evictor, from the evictor's start.
//   - Two nodes, or two pods, of the same name count as the same object if both have an empty UID.
//   - The evictor leaves a taint with an unknown effect alone.
//   - A toleration with Exists ignores its value. tolerationSeconds of 0 or less means evict at once; seconds that do
//     not fit a time.Duration mean the longest one.
//   - The evictor ignores a pod on a node that does not exist until the node appears.
//   - Events may come out of order and twice.
//   - When a clock without monotonic readings is set back, no time passes, and time counts on from there. When it jumps
//     ahead by more than a grace period, or the process sleeps for longer than that, all heartbeat clocks restart: the
//     evictor was not listening, so the nodes were not silent. See "Listening" in package health.
//
// # Wrong use
//
// New reports every fault of the configuration, the clients and the options at once. Step and Run return an error if
// they are called concurrently, without a context, or on an Evictor that New did not make; Run also if the clock has no
// timers or the source ends. If something is missing before the first decision, the decision Awaiting names it. Each
// package lists wrong uses and its answers to them in misuse_test.go. Some mistakes get no answer, because they look
// like right use:
//
//   - A function of Options calls the evictor, although it runs with the evictor's lock held: it waits forever.
//   - Two evictors act on one cluster, and neither has a MayWrite that asks who leads.
//   - A program without a Source reports nodes but not the renewals of their leases. A kubelet may report its status
//     only every five minutes. In between, its node looks silent.
//   - The program ignores the error of New. Every method of the nil Evictor then panics, as in any Go program.
//
// # Differences from upstream
//
// DIFFERENCES.md, at the top of the repository, lists each deliberate difference between this package and
// kube-controller-manager, and between nodepressure and the kubelet, with its reason and its test.
package evictor
