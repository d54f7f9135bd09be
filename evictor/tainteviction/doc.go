// Package tainteviction evicts pods from nodes with NoExecute taints when their tolerations end. It is
// kube-controller-manager's taint eviction controller as a library, and works beside any node lifecycle controller.
//
//	pods, err := tainteviction.New(tainteviction.DefaultConfig(), clients, tainteviction.Options{
//		Gate: hours, // asked about each pod before it leaves
//	})
//	if err != nil {
//		return err // names every fault of the configuration and the clients
//	}
//	return pods.Run(ctx) // or Step, which says when to call it again
//
// Taints are orders, except not-ready and unreachable (NoExecute): whoever sets these two may say by Verdicts whether
// evictions because of them are still wanted. Without Verdicts these two are orders as well.
//
// # What it asks, and what it needs alone
//
// It asks the Gate about Harm in the node's domain, Write and Evict before a pod leaves. Package gate says what goes
// on while one of them is refused.
//
// Alone it needs stores of nodes and pods and an Evicter. Whoever feeds it, a Source or the program, calls
// NodeChanged and PodChanged for what has changed. It taints nothing: taints are those of people, of other programs,
// of package nodelifecycle or of kube-controller-manager.
package tainteviction
