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
// and it waits in its zone. When its turn comes it is tainted, or emptied if TaintBasedEviction is off. A silent
// node is first watched for one whole grace period, even if its object already says that it failed; a node that reports
// not Ready is watched until its first sign of life. A silent node that renews its lease is not harmed. A write
// whose outcome is unknown is sent again, and the node keeps its turn until then.
// Conditions, NoSchedule taints and marks only need the permission to write: they protect others, whatever spares the
// node.
//
// # From silence to taint
//
//	Silent       silent.go    a leases.Reader reads the leases of nodes that are about to count as silent
//	half.Plan    half.go      notes what has changed, makes a pass if one is due, hands out turns; the loop calls it
//	  syncNode   sync.go      reads a node that has changed; look (look.go) is the only place that reads nodes
//	  pass       pass.go      verdicts -> zones -> rates; consider decides for each node that needs attention
//	    standing node.go      may the node be harmed, and if not, why? The only place that decides it
//	    enqueue  turns.go     the node waits at its zone's rate
//	    follows  sync.go      what the verdict asks for now is scheduled
//	  hand       hand.go      its turn has come: asks the Gate; while the node has its turn, planWrites adds the taint
//	write        write.go     a worker: plan (plan.go), ask the Gate, look again, write
//	mark         mark.go      a worker: pods of silent nodes are marked not Ready
//	remove       empty.go     a worker, without TaintBasedEviction: pods of a node that has its turn are deleted
//
// Files call only downwards in this order: silent, controller, half, pass, sync, hand, gates, verdicts, write,
// empty, mark, inspect, plan, look, unshown, turns, node, engine.
package nodelifecycle
