// Package nodelifecycle decides which nodes have failed, and taints them NoExecute, node by node, at the rates of
// their zones. It lifts the taints when the nodes are well again. It is kube-controller-manager's node lifecycle
// controller as a library. What evicts pods because of taints is package tainteviction.
//
//	nodes, err := nodelifecycle.New(nodelifecycle.DefaultConfig(), clients, nodelifecycle.Options{
//		Gate: gate.Leader(leads), // asked before each write
//		Observer: func(d nodelifecycle.Decision) { … },
//	})
//	if err != nil {
//		return err // names every fault of the configuration and the clients
//	}
//	return nodes.Run(ctx) // or Step, which says when to call it again
//
// A node that was silent for its grace period becomes Unknown: its conditions say so, its pods are marked not Ready,
// and it waits in its zone. When its turn comes it is tainted, or emptied if TaintBasedEviction is off. A silent node
// is first watched for one whole grace period, even if its object already says that it failed; a node that reports not
// Ready is watched until its first sign of life. A silent node that renews its lease is not harmed. A write whose
// outcome is unknown is sent again, and the node keeps its turn until then. Conditions, NoSchedule taints and marks
// only need the permission to write: they protect others, whatever spares the node.
//
// # What it asks, and what it needs alone
//
// It asks the Gate about Write before each write; before a NoExecute taint also about Harm in the node's domain and
// about the node's Turn; before it deletes a pod, which it does only without TaintBasedEviction, also about Harm and
// Evict. Package gate says what goes on while one of them is refused.
//
// Alone it needs stores of nodes and pods, a NodeWriter, and a PodWriter, which marks pods. Whoever feeds it, a
// Source or the program, calls NodeChanged and PodChanged for what has changed, LeaseObserved for each renewal, and
// SetObserverHealth when the watches break and when they show everything again. The leases of nodes that are about to
// count as silent are read by a leases.Reader, if there is one: Silent names them. Pods leave tainted nodes only if
// something evicts them: package tainteviction, which asks Own, or the controller of kube-controller-manager.
package nodelifecycle
