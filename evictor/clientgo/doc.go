// Package clientgo runs an evictor on a real cluster: it implements the evictor's clients over a
// clientset and a SharedInformerFactory, and feeds the evictor from the factory's informers.
//
//	factory := informers.NewSharedInformerFactory(client, 0)
//	cluster, err := clientgo.New(client, factory, clientgo.Options{})
//	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Logger: slog.Default()})
//	err = cluster.Feed(e)
//	factory.Start(ctx.Done())
//	return e.Run(ctx)
//
// New starts nothing and sends nothing. Everything runs with the factory: the informers, the recorder of
// events and the guard. Evictor.Run decides nothing before the informers are complete (Synced).
//
// # What is watched, and what is kept
//
// Nodes, pods, the leases in kube-node-lease and, with Options.DaemonSets, DaemonSets. The informers are
// Cluster's own ones inside the factory: other users of the same factory see neither them nor what
// their transforms leave away. A pod is kept in about 300 bytes, a node without images, addresses and
// annotations; Options.KeepNode saves more of it. Where watch-list is not to be had, lists are read in pages of 500, each
// made small before the next is asked for. A program that has whole nodes and pods in its factory's informers
// anyway sets Options.ShareInformers, and nothing is watched twice. The factory's resync brings nothing here but work.
//
// # How it writes
//
// Everything is a patch or a delete with the object's UID as precondition, so nothing is ever done to
// a namesake. Taints are one merge patch of the whole list, with the resourceVersion it was made from;
// conditions are a strategic merge patch by their type, with the resourceVersion too, so that what a kubelet reports
// meanwhile is not overwritten unseen. Conflict means "read again", and so does the Invalid with which the API server
// answers the UID of another object; it is returned as Conflict. What was written is shown by the store
// at once, not when the watch brings it, so the next write does not meet its own predecessor.
//
// A pod gets the condition DisruptionTarget, then is deleted; its own grace period applies. With
// Options.EvictionAPI an Eviction (policy/v1) is created instead: a disruption budget answers it with
// 429, and the evictor waits as long as the answer asks and holds no worker meanwhile.
//
// A write that is under way when the context of Run ends is finished, within four seconds, so that no pod is left
// with the condition and without its deletion; none is begun after. Options.EvictionClient and Options.EventClient keep evictions and
// events from using up the rate of node writes.
//
// # The guard
//
// A controller whose watch is broken sees no heartbeats, and must not take that for the death of all nodes. When
// a watch could not be had for Options.LeaseSilence, the evictor is told (SetObserverHealth): verdicts freeze, and
// nothing is tainted or evicted until the guard is content again. When no lease of anybody has been seen to
// advance for as long, the guard reads a few leases live first, those renewed last, and others at each look. If they cannot be read, or
// have advanced unseen, the evictor is told; if nobody renews indeed it is not, and acts. The guard must notice before
// grace periods end: keep LeaseSilence well below NodeMonitorGracePeriod.
//
// # What else there is
//
// Subpackage metrics has Prometheus metrics under upstream's names. CheckServer says by verb and
// resource what the account may not do. The program examples/controller has all of it; examples/manager does
// the same within controller-runtime.
package clientgo
