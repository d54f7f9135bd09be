// Package clientgo runs an evictor on a real cluster: it implements the evictor's clients over client-go, with
// informers that feed the evictor.
//
// A Cluster is what an evictor sees and writes. Make it first, from a client; then make the evictor with its Clients,
// which also feed the evictor. Evictor.Run runs the Cluster too:
//
//	cluster, err := clientgo.NewForConfig(config, clientgo.Options{}) // or New(client, …)
//	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{
//		Observer: evictor.Observers{explain.Log(slog.Default()), cluster.Events()},
//	})
//	return e.Run(ctx)
//
// Cluster.Lifecycle and Cluster.TaintEviction have the clients for one half alone. Cluster.Events records upstream's
// events; with several replicas, Options.Leads says which of them does.
//
// New starts nothing and sends nothing. Evictor.Run runs everything: the informers, the event recorder and the guard.
// It decides nothing before the informers are Synced, and says what it waits for. A program that calls Evictor.Step
// must call Cluster.Run itself.
//
// # What is watched, and what is kept
//
// A Cluster watches nodes, pods, the leases in kube-node-lease and, with Options.DaemonSets, DaemonSets. For the half
// TaintEviction (Options.Half) it watches no leases. The half Lifecycle needs pods too: it marks them not Ready.
//
// Its informers keep little of each object: Keep lists all of it, and names what the program needs beside that. They
// always keep labels. Pods share one copy of equal labels, annotations, owners or tolerations. With the informer's
// store and index, a pod takes about 340 bytes, and a node with 15 labels 2.6 KiB.
//
// A tenant or a kubelet can make a Cluster keep at most some 60 KiB for each pod and 100 KiB for each node:
//
//   - Of more than 16 KiB of tolerations, it keeps only those for NoExecute; if these still exceed 16 KiB, the pod
//     counts as tolerating everything.
//   - Of more than 16 KiB of taints, it keeps only those that an evictor writes and the first NoExecute ones, and reads
//     the others again when it writes the list.
//   - Of more than 16 KiB (pods) or 64 KiB (nodes) of labels, it keeps those that fit, in the order of their keys, but
//     first a node's zone, region, operating system, architecture and exclusion. Each label counts 40 bytes beside its
//     text. With DaemonSets, a pod with more labels counts as a DaemonSet's, and a DaemonSet with such a selector
//     selects its whole namespace.
//   - Of the annotations that Keep names, it keeps those that fit into 16 KiB, in the order of their keys, and of
//     owners those that fit into 4 KiB. It cuts status and reason of a node's condition to 256 bytes.
//
// A program that already has nodes and pods in informers of its own sets Options.Informers, so that it watches nothing
// twice. Resyncs of these informers cost work and have no other effect. Package evictor/manager, a module of its own,
// does this and the rest for controller-runtime.
//
// # What it asks of the API server
//
// A Cluster opens one watch of each kind. If the API server serves watch-lists and client-go asks for them (by default
// from 0.35 on), that watch first delivers the existing objects. Otherwise the Cluster lists them in pages of 500, and
// makes each page small before it requests the next. A list never asks for resourceVersion 0, because the API server
// would answer with everything at once, from a cache that may be old.
//
// A broken watch resumes at the version it had reached. While nobody answers, the Cluster tries again every second. If
// the API server has forgotten that version meanwhile, the Cluster lists and watches as it did at first. Replicas lose
// their watches together, so before a list or watch-list of more than a page, each waits a random time, up to a quarter
// of LeaseSilence.
//
// # How it writes
//
// Every write is a patch or a delete with the object's UID as precondition, so it never hits another object of the
// same name. Taints are one merge patch of the whole list, with the resourceVersion that it was made from. A node's
// conditions are a strategic merge patch by type, also with the resourceVersion, so that it does not overwrite a
// kubelet's newer report unseen. Conflict means "read again". If the UID is another object's, the API server may
// answer Invalid, which the Cluster returns as Conflict. The store shows a write at once, before the watch delivers
// it, so that the next write does not conflict with it.
//
// To evict a pod because of a taint, the Cluster sets its condition DisruptionTarget, by UID alone, unless the pod has
// it. Then it deletes the pod with its own grace period. With Options.EvictionAPI it creates an Eviction (policy/v1)
// instead of deleting, and holds no worker while it waits.
//
// A disruption budget that refuses answers with 429. Then none of its pods is asked about before the budget's next
// time: the time that the answer names, or a second later, two, four, and so on, up to a minute. At that time one pod
// is asked about. If it may go, the others are asked about within a second. If the budget says something else than
// before, its next time is a second later. So all pods of a budget together cost some 66 requests in the first hour,
// and 60 in each hour after that, beside those that were under way when it refused first.
//
// Nothing watches budgets: their answers name them. What a budget says of a pod goes for all pods of the pod's
// controller. It goes for the Ready ones or for the others, because a budget may let go only the latter. A change of a
// budget is found at its next time, also by Evictor.Kick. When the guard finds that it can see again, all pods are
// asked about anew.
//
// When the context of Run ends, writes in flight have four seconds to finish, so that no pod keeps the condition
// without being deleted; no other write begins. Options.EvictionClient and Options.EventClient keep evictions and
// events from using up the rate limit of node writes.
//
// # The guard
//
// A controller whose watch is broken sees no heartbeats, and must not conclude that all nodes are dead. So a guard
// calls the evictor's SetObserverHealth when it cannot see the cluster: the evictor freezes its verdicts, and taints
// and evicts nothing until the guard can see again. There are three such cases:
//
//   - A watch has been broken for Options.LeaseSilence.
//   - No lease at all has advanced for that long, and the fault is on our side. To find out, the guard reads a few
//     leases from the API server, those renewed last first, and others at each further look. If it cannot read them, or
//     they have advanced unseen, the fault is ours. If they stand still there too, it is not, and the evictor acts.
//   - The process was suspended for more than a quarter of LeaseSilence (at least a second). Its connections may be
//     dead, and what it was about to do is old. The guard can see again once some leases were read from the API server
//     and the watch shows what was read. Without a watch of leases, or the permission to read them, the API server
//     need only answer.
//
// When a process wakes, anything in it may run first. So the guard asks the clock at each of its looks, whenever an
// evictor calls Awaits, which it does before it looks, and before each eviction; node writes need no such question,
// because a resourceVersion makes them fail if the node has changed. A machine whose monotonic clock stands still
// while it is suspended goes unnoticed.
//
// The guard must notice before grace periods end: keep 1.625 times LeaseSilence below NodeMonitorGracePeriod; nobody
// checks it. Without a watch of leases, it only notices broken watches.
//
// Once etcd was restored from a backup, restart the program, as all controllers: what it has read has later versions,
// and counts as newer than what is there.
//
// # Lost lease events
//
// A watch may deliver the renewals of most nodes and lose those of one. So before a silent node becomes Unknown, the
// Cluster reads that node's lease from the API server (package leases):
//
//	the lease            the node
//	newer than ours      lives on; Health returns a PartialError that names it until the watch delivers that
//	the same, or gone    becomes Unknown
//	cannot be read       is not harmed, and its lease is read again; Health returns a PartialError with the reason
//
// If two or more leases are needed and none can be read, the controllers are told that they cannot see the cluster. The
// Cluster sends fewer than 200 such requests a second, apart from the limit of writes, and none for a node with
// heartbeats. From 100 silent nodes on, one consistent list of kube-node-lease, in pages, answers for all. An account
// that may not get and list leases there can have no node found silent, which Health reports.
//
// # Leadership
//
// A leader that cannot see, or that cannot write while its lease renewals succeed, keeps other replicas from acting.
// MayLead says whether a replica is fit to lead, and Parts which of four parts fails: the lists, the watches, the
// evictor's passes, or its writes. Each fault shows within 1.625 times LeaseSilence, or 30 seconds later for writes
// that hang. That the API server answers evictions of some pods with errors is none: Parts says what is. With Lock, the
// leader then loses the lease by its renew deadline, and does not take it again before all parts work. While no replica
// is fit, none leads and none does harm. MayLead in a gate.Leader stops writes at once.
//
// No write begins while the Gate forbids it, and each ends within 30 seconds, or within FinishWithin after Run ends. So
// a program that ends Run when it could not renew its lease for the renew deadline writes nothing in the next leader's
// term, provided that
//
//	lease duration, in whole seconds ≥ renew deadline + FinishWithin
//
// and that the lease is not released before: client-go's ReleaseOnCancel releases it at the renew deadline.
//
// A process that is suspended (by SIGSTOP, or with its machine) between that check and the request may send the request
// later, while another replica leads: at most one request for each worker. Such a late request can still:
//
//   - change the conditions of a node, or add and lift taints, but only if nobody, neither the next leader nor the
//     kubelet, has written that node since (resourceVersion);
//   - set the labels of a node's operating system and architecture, which never change, if it is the same node (UID);
//   - set the condition of a pod and delete or evict it, if it is the same pod (UID): it spares a new pod of the same
//     name, and evicts no pod twice, but it may evict a pod that the next leader would have spared, because its node
//     has come back;
//   - mark a pod not Ready, but only if nobody has written that pod since (resourceVersion);
//   - record events of what it did.
//
// It cannot change the lease: a renewal conflicts with the next leader's.
//
// # What else there is
//
// Package metrics below this one has Prometheus metrics under upstream's names; package clientgotest has a fake
// clientset for tests in virtual time. Cluster.Check names, by verb and resource, the permissions that the account
// lacks. The program examples/evictord uses all of it; examples/manager does the same within controller-runtime.
package clientgo
