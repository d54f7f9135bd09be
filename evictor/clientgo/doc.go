// Package clientgo runs an evictor on a real cluster: it implements the evictor's clients over client-go, with
// informers that feed the evictor.
//
// A Cluster is what an evictor sees and writes. It is made first, from a client; the evictor is made with its Clients,
// and by that is fed; it runs with the evictor, and nothing is decided before its informers have everything. So there
// is no step to be forgotten:
//
//	cluster, err := clientgo.NewForConfig(config, clientgo.Options{}) // or New(client, …)
//	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Logger: slog.Default()})
//	return e.Run(ctx)
//
// New starts nothing and sends nothing. Everything runs with the evictor: the informers, the recorder of events and
// the guard. Evictor.Run decides nothing before the informers are complete (Synced), and says what it waits for. A
// program that steps its evictor runs the Cluster itself (Run).
//
// # What is watched, and what is kept
//
// Nodes, pods, the leases in kube-node-lease and, with Options.DaemonSets, DaemonSets. With Options.Half TaintEviction,
// for evictors of that half, no leases; the other half watches pods too, which it marks not Ready. The informers are
// Cluster's own ones. A pod is kept in about 160 bytes, and 110 more of the informer's store and index; a node without
// images, addresses, annotations and conditions that the evictor does not read; Options.KeepNode saves more of it.
// Equal lists of tolerations are kept once, as long as a pod has them. One that takes more than 16 KiB is not: those
// for NoExecute alone are, or the pod counts as one that tolerates everything. A node's taints are kept up to 16 KiB
// too: those that an evictor writes and the first that evict; the others are read again when the list is written. With
// DaemonSets, a pod with more than 16 KiB of labels counts as one of a DaemonSet, and a DaemonSet with such a selector
// has its whole namespace. So nothing that a tenant or a kubelet creates takes more than some 20 KiB for each object
// that exists. A program that has whole nodes and pods in a SharedInformerFactory anyway names it as Options.Factory,
// one with a cache of its own as Options.Informers, and nothing is watched twice; resyncs of theirs bring nothing here
// but work. Package evictor/manager, a module of its own, does that and the rest for controller-runtime.
//
// # What it asks of the API server
//
// A watch of each kind, once. Where the API server serves watch-lists and client-go asks for them (from 0.35 on, unless
// told otherwise), that watch brings also what there is. Else it is listed as of now, in pages of 500, each made small
// before the next is asked for: never with resourceVersion 0, which is answered with everything at once, out of a cache
// that may be old. A watch that breaks goes on from where it was; while nobody answers it is tried every second. Where
// the API server has forgotten that place meanwhile, it costs one list more: its pages and one watch. Replicas lose
// their watches together, so each waits at random, up to a quarter of LeaseSilence, before it lists again what took
// several pages.
//
// # How it writes
//
// Everything is a patch or a delete with the object's UID as precondition, so nothing is ever done to a namesake.
// Taints are one merge patch of the whole list, with the resourceVersion it was made from; conditions are a strategic
// merge patch by their type, with the resourceVersion too, so that what a kubelet reports meanwhile is not overwritten
// unseen. Conflict means "read again", and so does the Invalid with which the API server answers the UID of another
// object; it is returned as Conflict. What was written is shown by the store at once, not when the watch brings it, so
// the next write does not meet its own predecessor.
//
// A pod gets the condition DisruptionTarget, then is deleted; its own grace period applies. With Options.EvictionAPI
// an Eviction (policy/v1) is created instead: a disruption budget answers it with 429, and the evictor waits as long
// as the answer asks and holds no worker meanwhile.
//
// A write that is under way when the context of Run ends is finished, within four seconds, so that no pod is left with
// the condition and without its deletion; none is begun after. Options.EvictionClient and Options.EventClient keep
// evictions and events from using up the rate of node writes.
//
// # The guard
//
// A controller whose watch is broken sees no heartbeats, and must not take that for the death of all nodes. When a
// watch could not be had for Options.LeaseSilence, the evictor is told (SetObserverHealth): verdicts freeze, and
// nothing is tainted or evicted until the guard is content again. When no lease of anybody has been seen to advance
// for as long, the guard reads a few leases live first, those renewed last, and others at each look. If they cannot be
// read, or have advanced unseen, the evictor is told; if nobody renews indeed it is not, and acts. The guard must
// notice before grace periods end: keep LeaseSilence well below NodeMonitorGracePeriod. Where no leases are watched it
// notices broken watches alone.
//
// # Leadership
//
// A replica that leads and does not see, or whose writes all fail while its lease renewals succeed, keeps those from
// acting that could. MayLead says whether one is fit to lead, and Parts which of four things is ill: the lists, the
// watches, the passes of the evictor, its writes. Each is found out within one and five eighths of LeaseSilence;
// writes that hang, 30 seconds later. A leader election with Lock then loses the lease by its renew deadline and does
// not take it before all is well again. While nobody is fit, nobody leads and nobody harms. MayLead in
// Options.MayWrite stops writes at once.
//
// No write begins when MayWrite forbids it, and one that has begun ends within 30 seconds, or FinishWithin after the
// end of Run. So a program that ends Run when it could not renew for the renew deadline writes nothing in the next
// one's term where
//
//	lease duration, in whole seconds ≥ renew deadline + FinishWithin
//
// A process that is stopped between that check and the request may send it later. Then the node's resourceVersion or
// the pod's UID must still be the same: it can still taint a node that has not changed since, or evict a pod that the
// next leader has not.
//
// # What else there is
//
// Subpackage metrics has Prometheus metrics under upstream's names. Subpackage clientgotest has a fake clientset for
// tests in virtual time. Cluster.Check says by verb and resource what the account may not do. The program
// examples/controller has all of it; examples/manager does the same within controller-runtime.
package clientgo
