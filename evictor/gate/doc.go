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
// A Gate is asked right before each act, with nothing locked. After its answer, the store, the verdict and the health of
// the observer are looked at once more, so a slow Gate causes no stale write. New asks no Gate.
//
// # What to refuse
//
// A node lifecycle controller alone asks about Write, Harm and Turn, and with its TaintBasedEviction off also about Evict.
// A taint eviction controller alone asks about Write, Harm and Evict. Leader, Pause and Breaker work in either.
//
//	the wish                   refuse                      what goes on meanwhile
//	nothing at night           Evict                       taints, marks, lifting. In a node lifecycle controller that
//	                                                       taints nobody asks about Evict: refuse Harm there
//	not more than three of     Turn (package guard)        NoSchedule, marks, lifting; the pods of nodes tainted before leave.
//	a rack                                                 A taint eviction controller alone has no turns
//	not this node              Options.Hold, not a Gate    NoSchedule, marks; our NoExecute taint is lifted from it
//	no evictions now           Harm (Pause, Breaker)       NoSchedule, Ready=Unknown, marks, lifting
//	stop everything            Write (Leader)              nothing is written, and nothing lifted
//	heartbeats lie, the pods   no answer without harm:
//	serve                      Harm                        no pod moves, but dead-looking nodes take no new pods, and their
//	                                                       pods are marked, so Services leave them
//	                           Write                       pods stay in Services, but nothing is lifted, and new pods may go
//	                                                       to nodes that are dead
//
//	                           every zone down             blind observer            after a restart
//	nothing at night           our taints evict nobody     nothing is written,       the same; what our taints made overdue
//	                           and are lifted              lifted or asked           before leaves node by node
//	not more than three        no turns                    likewise                  a new guard counts the taints that it finds
//	not this node              as without the state        likewise                  Options.Hold is asked anew; Controller.Hold
//	                                                                                 is to be called again
//	no evictions now           lifting goes on, nobody     likewise                  as long as the Gate still refuses: a Pause
//	                           is marked                                             is of the process that it is in
//	stop everything            nothing is lifted           likewise                  likewise
//
// NoSchedule taints and Ready=Unknown are written in all of these states but two: while the observer is blind, and while
// Write is refused. kube-scheduler looks at these taints alone: a brake on evictions must not open dead nodes to new pods.
package gate
