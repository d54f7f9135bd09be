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
// # Where an eviction stands
//
//	half.Plan    sync.go      notes what has changed
//	  syncNode   sync.go      the node's taints have changed: a round decides about each of its pods
//	  syncPod    sync.go      a pod has changed
//	    decideOn decide.go    when the pod must leave, if at all: armed, moved or cancelled
//	evict        evict.go     a worker, at the deadline: check, ask the Gate, check again, evict
//	  check      check.go     the last word: is it still that pod, node and taint, and does Verdicts want it?
//
// Files call only downwards in this order: controller, evict, check, sync, decide, engine.
package tainteviction
