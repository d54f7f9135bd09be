// Package clientgo runs an evictor on a real cluster: it implements the evictor's clients over client-go, with
// informers that feed the evictor.
//
// A Cluster is what an evictor sees and writes. Make it first, from a client; then make the evictor with its Clients,
// which also feed the evictor. The Cluster runs with the evictor, so no step can be forgotten:
//
//	cluster, err := clientgo.NewForConfig(config, clientgo.Options{}) // or New(client, …)
//	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Logger: slog.Default()})
//	return e.Run(ctx)
//
// New starts nothing and sends nothing. Evictor.Run runs everything: the informers, the event recorder and the guard.
// It decides nothing before the informers are Synced, and says what it waits for. A program that calls Evictor.Step
// calls Cluster.Run itself.
//
// # What is watched, and what is kept
//
// A Cluster watches nodes, pods, the leases in kube-node-lease and, with Options.DaemonSets, DaemonSets. For evictors
// of the half TaintEviction (Options.Half) it watches no leases. The half Lifecycle needs pods too, because it marks
// them not Ready.
//
// Its informers keep little: Keep lists all of it, and names what the program needs beside that. Labels are always
// kept. Labels, annotations and owners of pods are kept once for all pods that have the same, and so are lists of
// tolerations, for as long as a pod has them. With the informer's store and index a pod takes about 340 bytes, and a
// node with 15 labels 2.6 KiB.
//
// What a tenant or a kubelet can make us keep is bounded, to some 60 KiB for each pod and 100 KiB for each node:
//
//   - Of tolerations of more than 16 KiB only those for NoExecute are kept; if these are still more, the pod counts as
//     one that tolerates everything.
//   - Of taints of more than 16 KiB only those that an evictor writes and the first NoExecute ones are kept; the others
//     are read again when the list is written.
//   - Of labels of more than 16 KiB (pods) or 64 KiB (nodes) those are kept that fit, in the order of their keys, but
//     first a node's zone, region, operating system, architecture and exclusion. Each counts 40 bytes beside its text.
//     With DaemonSets, a pod with more labels counts as a DaemonSet's, and a DaemonSet with such a selector selects its
//     whole namespace.
//   - Of the annotations that Keep names those are kept that fit into 16 KiB, in the order of their keys, and of owners
//     those that fit into 4 KiB. Status and reason of a node's condition are cut to 256 bytes.
//
// A program that already has whole nodes and pods in a SharedInformerFactory sets Options.Factory, and one with a cache
// of its own sets Options.Informers; then nothing is watched twice. Resyncs of these informers cost work here and have
// no other effect. Package evictor/manager, a module of its own, does this and the rest for controller-runtime.
//
// # What it asks of the API server
//
// One watch of each kind. If the API server serves watch-lists and client-go asks for them (by default from 0.35 on),
// that watch also delivers the objects there are. Otherwise they are listed in pages of 500, each made small before the
// next is requested. A list never asks for resourceVersion 0, which is answered with everything at once, out of a cache
// that may be old.
//
// A broken watch resumes where it was. While nobody answers, it is tried every second. If the API server has meanwhile
// forgotten that version, it costs one more list: its pages and one watch. Replicas lose their watches together, so
// each waits a random time, up to a quarter of LeaseSilence, before it lists again, or asks for a watch-list, of more
// than a page.
//
// # How it writes
//
// Every write is a patch or a delete with the object's UID as precondition, so it never hits another object of the same
// name. Taints are one merge patch of the whole list, with the resourceVersion that it was made from. Conditions are a
// strategic merge patch by type, also with the resourceVersion, so that a kubelet's newer report is not overwritten
// unseen. Conflict means "read again". So does the Invalid with which the API server answers the UID of another object;
// it is returned as Conflict. The store shows a write at once, before the watch delivers it, so that the next write
// does not conflict with it.
//
// A pod gets the condition DisruptionTarget and is then deleted, with its own grace period. With Options.EvictionAPI an
// Eviction (policy/v1) is created instead. If a disruption budget answers it with 429, the evictor waits as long as the
// answer asks, and holds no worker meanwhile. If the answer names no time, as is usual, a pod costs at most 66 requests
// in the first hour, and 60 in each hour after that (Config.RetryMax).
//
// When the context of Run ends, a write in flight is finished within four seconds, so that no pod is left with the
// condition but not deleted; no other write begins. Options.EvictionClient and Options.EventClient keep evictions and
// events from using up the rate limit of node writes.
//
// # The guard
//
// A controller whose watch is broken sees no heartbeats, and must not conclude that all nodes are dead. So a guard
// calls the evictor's SetObserverHealth when it cannot see the cluster: verdicts freeze, and nothing is tainted or
// evicted until the guard reports that it can. It does so in two cases:
//
//   - A watch has been broken for Options.LeaseSilence.
//   - No lease at all was seen to advance for that long, and a look at the API server confirms a fault on our side. The
//     guard then reads a few leases live, those renewed last first, and others at each look. If they cannot be read, or
//     have advanced unseen, the fault is ours. If really no kubelet renews, it is not, and the evictor acts.
//
// The guard must notice before grace periods end: keep LeaseSilence well below NodeMonitorGracePeriod. If no leases are
// watched, it only notices broken watches.
//
// # Lost lease events
//
// A watch may deliver the renewals of most nodes and lose those of one. So before the verdict of a silent node becomes
// Unknown, the Confirmer of Cluster.Clients reads that node's lease from the API server:
//
//	the lease            the node
//	newer than ours      lives on; Health returns a PartialError that names it, and everything else goes on
//	the same, or gone    becomes Unknown
//	cannot be read       waits, and is asked about again with backoff; Health returns a PartialError with the reason
//
// There are at most 200 such requests a second, apart from the limit of writes, and none for a node that beats. From
// 100 silent nodes on, one consistent list of kube-node-lease, in pages, answers for all. An account that may not get
// and list leases there can declare no node Unknown, and says so.
//
// # Leadership
//
// A leader that cannot see, or whose writes all fail while its lease renewals succeed, keeps other replicas from
// acting. MayLead says whether a replica is fit to lead, and Parts which of four parts fails: the lists, the watches,
// the evictor's passes, or its writes. Each fault shows within 1.625 times LeaseSilence, or 30 seconds
// later for writes that hang. With Lock, the leader then loses the lease by its renew deadline, and does not take it
// before all parts work again. While no replica is fit, none leads and none does harm. MayLead in Options.MayWrite
// stops writes at once.
//
// No write begins while MayWrite forbids it, and each ends within 30 seconds, or within FinishWithin after Run ends. So
// a program that ends Run when it could not renew its lease for the renew deadline writes nothing in the next leader's
// term, provided that
//
//	lease duration, in whole seconds ≥ renew deadline + FinishWithin
//
// A process that is suspended (by SIGSTOP, or with its machine) between that check and the request may send the request
// later, while another replica leads: at most one request for each worker. What such a request can still do depends on
// what it finds:
//
//   - Taints and conditions of a node, lifting included: only if nobody, neither the next leader nor the kubelet, has
//     written that node since (resourceVersion).
//   - Labels of a node's operating system and architecture, which never change: if it is the same node (UID).
//   - Deleting or evicting a pod, with the condition before it: if it is the same pod (UID). A pod that the next leader
//     has evicted is not evicted again, and a new pod of the same name is spared. But a pod on a node that has since
//     come back is evicted, which the next leader would have spared.
//   - Marking a pod not Ready: only if nobody has written that pod since (resourceVersion).
//   - Events of what it did.
//   - Nothing to the lease: a renewal conflicts with the next leader's.
//
// # What else there is
//
// Package metrics below this one has Prometheus metrics under upstream's names; package clientgotest a fake clientset
// for tests in virtual time. Cluster.Check names, by verb and resource, the permissions that the account lacks. The
// program examples/evictord uses all of it; examples/manager does the same within controller-runtime.
package clientgo
