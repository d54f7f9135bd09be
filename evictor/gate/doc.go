// Package gate says what is permitted now.
//
//	hours := gate.Func(func(_ context.Context, act gate.Act) error {
//		if act.Do == gate.Evict && clock.Now().Hour() >= 22 {
//			return errors.New("not at night")
//		}
//		return nil
//	})
//	var pause gate.Pause // pause.Pause("INC-7"), pause.Resume("INC-7")
//	e, err := evictor.New(config, clients, evictor.Options{Gate: gate.All(gate.Leader(leads), hours, &pause)})
//
// A Gate is asked right before each act, with nothing locked. After its answer, the store, the verdict and the health
// of the observer are looked at once more, so a slow Gate causes no stale write. New asks no Gate.
//
// # What to refuse
//
// A node lifecycle controller alone asks about Write, Harm and Turn, and without TaintBasedEviction also about Evict. A
// taint eviction controller alone asks about Write, Harm and Evict. Leader, Pause and Breaker work in either half.
//
//	the wish                  refuse                   what goes on meanwhile
//	nothing at night          Evict; in a node         taints, marks and lifting; with Harm refused, no NoExecute
//	                          lifecycle half that      taints
//	                          taints, Harm
//	not more than three of    Turn (budget/guard);     NoSchedule, marks, lifting; pods of nodes that are tainted
//	a rack                    no other half has it     already leave
//	not this node             Options.Hold, no Gate    NoSchedule, marks; our NoExecute taint is lifted
//	no evictions now          Harm (Pause, Breaker)    NoSchedule, Ready=Unknown, marks, lifting
//	stop everything           Write (Leader)           nothing is written, and nothing lifted
//	heartbeats lie, and       Harm                     no pod moves. But silent nodes take no new pods, and their
//	the pods serve                                     pods are marked, so Services leave them out
//	                          or Write                 pods stay in Services. But nothing is lifted, and new pods
//	                                                   go to nodes that are dead. No answer is without harm
//
//	                          every zone down          blind observer       after a restart
//	nothing at night          our taints are lifted    nothing is           what our taints made overdue before
//	                                                   written or lifted    leaves node by node
//	not more than three of    no turns                 the same             a new guard counts the taints that
//	a rack                                                                  are there
//	not this node             the same                 the same             Options.Hold is asked anew; what
//	                                                                        Controller.Hold held is not held
//	no evictions now          lifting goes on, and     the same             a Pause is gone with its process
//	                          no pod is marked
//	stop everything           nothing is lifted        the same             the Gate is asked anew
//	heartbeats lie, and       Harm: no pod is marked,  Services stay as     the same, after one whole grace
//	the pods serve            Services stay whole      they are             period
//
// Ready=Unknown and NoSchedule taints are written in every state, unless the observer is blind or Write is refused:
// kube-scheduler looks at these taints alone, and a brake on evictions must not open dead nodes to new pods.
package gate
