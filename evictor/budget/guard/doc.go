// Package guard puts a budget on the evictor's seams: it limits how many nodes the evictor taints or empties, in
// groups of any kind, and tries one before it acts on many. Package budget, above this one, has the bounds.
//
//	b, err := budget.New(budget.Config[string, guard.Member]{
//		Dimensions: map[string]func(guard.Member) (string, bool){
//			"rack": func(m guard.Member) (string, bool) { rack, has := m.Labels["rack"]; return rack, has },
//		},
//		Bad:    func(m guard.Member) bool { return !m.Ready },
//		Counts: func(m guard.Member) bool { return !m.Excluded },
//		Bounds: []budget.Bound{
//			{Name: "two of a rack", Per: "rack", Of: budget.Acting, Max: budget.Count(2)},
//			{Name: "a storm", Of: budget.Bad, Max: budget.Percent(20), Quiet: 10 * time.Minute},
//		},
//	})
//	if err != nil {
//		return err
//	}
//	g, err := guard.New(b, config.Nodes, guard.Options{
//		Exceeded: func(by *budget.Refusal) (wait bool) { return by.Bound == "a storm" },
//	})
//	if err != nil {
//		return err
//	}
//	e, err := evictor.New(config, clients, g.On(evictor.Options{Gate: gate.Leader(leads)}))
//
// # What a Guard does on each seam
//
//	Gate      reserves the node when its turn comes. While a bound is exceeded it refuses evictions by our own taints,
//	          if Options.Exceeded says so: these pods leave later with their node, at its zone's rate.
//	Observer  hears verdicts, so that the budget knows who is bad; how turns end; and which pods have left.
//	Hold      sees each node when the evictor reads it: its labels, its domain, whether it is excluded or held, and
//	          whether it has our taint.
//
// On puts it there: last among the Gates, so that nobody refuses what is reserved, and first among the Observers, so
// that none that panics hides a decision from it.
//
// # Who feeds the budget
//
// The evictor reads every node before the first turn, so the budget knows all of them by then: their labels, and the
// taints that an earlier process has left. Before its first verdict a node is Ready if it says so. Verdicts of a pass
// reach the budget before a turn is asked for; under Run a worker that is reporting at that instant may delay them by
// as long as that takes. A silent node is bad only once its lease was read, though its zone counts it at once: while
// the API server answers few reads, a budget counts fewer bad nodes than there are. A node that is gone leaves the
// budget. A new node of the same name is another one.
//
// A node is excluded if Options.Excluded of the evictor says so, or without that function if zone.Excluded does. It
// is held if Options.Hold says so; the budget does not see Controller.Hold.
//
// # How often a refused turn is asked again
//
// Each GateInterval, also if the refusal names a later time: a node that recovers or an act that ends may permit it
// sooner. It costs the zone no token, and the next node in line is asked about. TurnRefused is reported once, and
// again when another bound refuses.
//
// # What counts as an act
//
// A reservation becomes an act when the node's taint is written, and the act ends when the node no longer has the
// taint. A taint that somebody else sets or removes counts the same. Without TaintBasedEviction an act begins with
// the first pod that is deleted, and ends when the node is ready. A turn that ends with nothing done gives its
// reservation back. Its outcome is that of the taint or, without taints, of the deletions; no other write counts, and
// no NoSchedule taint. If nobody knows whether that was done, the turn is not over, and the reservation stays until it
// is: until a try succeeds, the store shows it, or the store has not shown it for a grace period in which the evictor
// listened; then nothing was done. A taint that was written counts before the store shows it. If the store changes the
// node and does not show the taint for a grace period, the act is over.
//
// # Trials
//
// A Guard judges acts for bounds on budget.Unproven. A node that is ready again within FalseAlarmWithin after its
// first pod left has Failed. One that is ready later, or before any pod has left, is Inconclusive, and so is one that
// loses its taint while it is not ready. One that stays away, or is deleted, is unproven until Bound.Within has
// passed. So set Unjudged to Proved, unless the program itself proves acts, and set Within, which counts from the
// taint, to longer than pods tolerate our taints.
//
// Only the process that evicted a node's first pod knows when that was. After a restart, or after another leader has
// acted, the pod counts as having left when this process could write again; while it cannot, as leaving now. An
// evictor whose Run or Step was not called for a while could not write meanwhile. An eviction whose answer was lost
// counts as done. If no half that evicts runs here, the pod counts as having left when the taint was seen. So a trial
// becomes more careful, never less.
//
// # Restarts
//
// A new evictor needs a new Guard. With the same Budget, or with one that was restored from a snapshot, it goes on
// with what the last one began (the Guard acts under the name "evictor", see budget.Budget.As). With an empty Budget,
// each node that has our taint counts as acted on since the time that its taint says, and is unproven for a whole
// Bound.Within. One evictor at a time may use a Budget.
//
// # The half alone
//
// nodelifecycle.Options take from On what they have, too: Gate, Observer.ObserveNode and Hold. A
// tainteviction.Controller alone has no turns, and needs no Guard.
package guard
