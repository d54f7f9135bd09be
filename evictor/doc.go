// Package evictor puts the pieces together: node and pod events in; conditions, taints and evictions out.
//
//	// On a cluster, with package clientgo below this one:
//	cluster, err := clientgo.NewForConfig(config, clientgo.Options{})
//	if err != nil {
//		return err
//	}
//	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{
//		Logger:  slog.Default(),
//		MayHarm: func() error { return maintenance.Err() }, // asked before every taint and eviction; nil is yes
//	})
//	if err != nil {
//		return err // every fault of the configuration, the clients and the options
//	}
//	http.HandleFunc("/why", func(w http.ResponseWriter, r *http.Request) {
//		fmt.Fprintln(w, e.Explain(r.FormValue("pod")))
//	})
//	return e.Run(ctx) // or Step, which does what is due now and says when to come back
//
// An Evictor is told by its Source, or by the program, by name what changed (NodeChanged, PodChanged) and when leases
// were renewed (LeaseRenewed); until somebody tells it anything it decides nothing. It reads the truth from the stores
// when it acts, decides, checks once more, and writes through the small interfaces in Clients. Step does everything
// that is due now and says when to call again; Run is a loop over the same code with workers. Every decision reaches
// the Observer with its reasons, and Explain tells those about one node or pod.
//
// # What happens to a node that fails
//
//  1. No heartbeat is seen for NodeMonitorGracePeriod: its verdict becomes Unknown, the four kubelet
//     conditions are written, its pods are marked not Ready, and NoSchedule taints follow the conditions.
//  2. It waits in its zone's queue. The zone's state gives the rate: NodeEvictionRate, the secondary one,
//     or 0. When every zone is down nothing is tainted for it and what was is lifted.
//  3. Its turn comes: it is tainted NoExecute. Pods leave as their tolerations end.
//  4. It reports Ready: pending evictions are cancelled in memory, then the taints lifted in one write.
//
// Without TaintBasedEviction steps 2 and 3 delete its pods after PodEvictionTimeout instead.
//
// Config.Half leaves half of this out: who only needs pods to leave tainted nodes, or only nodes to be tainted.
//
// # Permissions
//
// MayWrite (leadership) stops every write. MayHarm, Pause and SetObserverHealth stop only new taints and evictions;
// recovery is never blocked. MayHarmIn and PauseDomain do so in one failure domain. What the zone policy says of
// pending evictions (zone.Pending) reaches only those by our own taints. The strictest answer wins. DryRun decides
// everything and writes nothing. Hold spares one node, at once.
//
// # When the API server fails
//
// What could not be written because the API server was not reached, did not answer in time, had an error of its own or
// too much to do is tried again with a backoff that grows up to RetryMax; and one write of these each pass, jittered,
// finds out when it is back. As soon as anything is answered, all of it is tried again at once, within the workers and
// the rate limit of the client. An answer about one object is no outage: a conflict is read again within seconds, a
// disruption budget asked again for longer each time, and what is forbidden, invalid or refused by a webhook keeps its
// backoff.
//
// # What it is not
//
// It does not collect pods of deleted nodes (PodGC), force-delete what a dead kubelet cannot finish, or
// move pods for balance (descheduling). It evicts nothing that the API objects do not justify.
//
// # Bad input
//
// A node without labels is in the zone with the empty key; one without conditions counts as not ready and is Unknown
// after the start-up grace; without a creation time, or with one in the future, that grace runs from when it was first
// seen. Two of a name that both have no UID never differ. A taint with an unknown effect is left alone. A toleration
// that has a value with Exists ignores it; tolerationSeconds of zero and below mean at once, 9e18 the longest duration
// there is. A pod on a node that does not exist is ignored until the node appears. Events may come out of order and
// twice: they only name keys. When a clock without monotonic readings goes back no time passes, and what follows
// counts; one that jumps ahead by more than a grace period starts all heartbeat clocks anew.
//
// # Differences from upstream
//
// Where this package decides otherwise than kube-controller-manager, and nodepressure than the kubelet, it is on
// purpose: DIFFERENCES.md, at the top of the repository, has a row for each, with the reason and its test.
package evictor
