// Package together evicts groups: pods of which none is of use without the others, such as those of a JobSet, of a
// replica of a LeaderWorkerSet or of a PodGroup. When one of them has to leave, all leave.
//
//	why := explain.New(4096)
//	groups := &together.Writer{
//		PodWriter: clients.PodWriter, Nodes: clients.Nodes, Pods: clients.Pods,
//		Group:     replica,                // func(pod *v1.Pod) []cluster.PodKey: who leaves with it
//		Gate:      hours,                  // the evictor's own: it is asked about each of them
//		Check:     cluster.CheckEviction,  // of package clientgo: do the disruption budgets permit it?
//		Observer:  why.ObservePod,         // the evictor's own: it hears of their evictions as of others
//	}
//	clients.PodWriter = groups
//	e, err := evictor.New(config, clients, evictor.Options{Gate: hours, Observer: why})
//	…
//	groups.Held = e.Nodes().Held
//	return e.Run(ctx)
//
// # How a group leaves
//
// The evictor condemns a pod, because its node has a taint that the pod does not tolerate any longer. It asks its Gate,
// then it calls Evict of its PodWriter. A Writer does this then:
//
//  1. It asks Group who leaves with the pod. These are the members.
//  2. It asks about each member: is the member's node held, does the Gate permit harm in the member's domain and this
//     eviction, and does Check permit it? Check is asked about the condemned pod, too.
//  3. One no holds all of them back. It is the answer to the evictor, which asks again as after any refusal.
//  4. It evicts the members in the order of their names, and the condemned pod last. Before each it looks at the store
//     again, asks the Gate about harm and a write, and asks whether the node is held. While the cluster cannot be seen,
//     the PodWriter or the Gate must refuse by itself, as the PodWriter of package clientgo does: the evictor's own
//     sight counts only before the first leaves.
//
// Members cost no turn, and the rate of their zone does not count. A pod that is condemned while it leaves with another
// one leaves once.
//
// # When something happens between two evictions
//
//   - An eviction fails: the evictor tries again, with its backoff. Those that have left are not evicted again.
//   - The process ends, or another one leads: the taint of the condemned pod, which is still there because it goes
//     last, is the only record that is needed. The next process goes on with the members that are left.
//   - A controller replaces a member: the new pod stays. A pod that was created after the condemned pod's deadline is
//     no member. If a failed node is emptied without taints there is no deadline; then it is one that was created after
//     the node became not Ready.
//   - The node recovers, the taint is lifted, the condemned pod goes, or the Gate closes: the rest stays, because
//     nothing justifies its eviction any longer. Whoever owns the group replaces those that have left.
//
// A disruption budget that permits fewer evictions than the group has members says yes to each of them before the first
// leaves, and no afterwards. Then the rest waits until it permits more.
package together
