// Package budget answers one question: may I act on one more?
//
// A program that repairs, drains or evicts asks it before each action. The answer comes from bounds: at most a fifth of
// a pool may be broken, at least three nodes of a rack must be healthy, no more than two repairs at a time, ten in an
// hour, none until a storm has been over for ten minutes. A Budget holds any number of bounds at once, over any
// grouping of what it counts.
//
//	b, err := budget.New(budget.Config[string, *v1.Node]{
//		Dimensions: map[string]func(*v1.Node) (string, bool){"pool": pool, "zone": zone},
//		Bad:        notReady,
//		Bounds: []budget.Bound{
//			{Name: "pool is mostly healthy", Per: "pool", Of: budget.Bad, Max: budget.Percent(20).Up()},
//			{Name: "two at a time in a zone", Per: "zone", Of: budget.Acting, Max: budget.Count(2)},
//			{Name: "ten an hour", Of: budget.Recent, Within: time.Hour, Max: budget.Count(10)},
//		},
//	})
//	b.Set(node.Name, node)                   // for each that comes or changes
//	reservation, err := b.Reserve(node.Name) // before acting on one
//
// # Members and groups
//
// A member is anything with a key: a node, a machine, a pod. Call Set when a member appears or changes, and Remove when
// it is gone. Config's functions say whether a member counts in the total, whether it is bad, whether it may be acted
// on at all, and how much it weighs: a node with eight GPUs may count as eight.
//
// A Dimension puts each member into one group, by pool or zone or rack, or into none. A Bound applies to each group of
// its dimension separately or, without a dimension, to all members together.
//
// # Bounds
//
// What a Bound counts is its Quantity, in weights:
//
//	Bad          members that are bad
//	Unavailable  those that are bad, acted on, or both
//	Healthy      those that are neither
//	Acting       those that are acted on now
//	Recent       those on which an action has begun Within the time before
//	Unproven     those on which an action has begun whose outcome is not known: see Trials
//
// A bound compares Bad with its limits as it is now, because an action does not make another member bad. It compares
// the others as they would be once the action had begun. Max is the upper limit, Min the lower one: Bad with a Min of 1
// and a Max of 3 allows actions while one to three members are bad, and leaves larger failures to people.
//
// A member that changes its group or its weight counts as it is now. Only Recent and Unproven count an action in the
// group in which it began, with the weight that the member had then.
//
// A limit is a Count, or a Percent of the group's total. A percentage is rounded down, as Kubernetes usually does; Up
// rounds it up. AtLeast takes the larger of a share and a number: a Max of Percent(45).AtLeast(3) on Bad refuses
// actions when more than 3 members and more than 45 % are bad.
//
// With Quiet, a bound on Bad, Unavailable or Healthy is a breaker. Once it is exceeded, it refuses every action until
// the group has stayed within the limit for that long without interruption. Committed actions can trip it, reservations
// cannot. Breakers start with Begin, or the first Reserve or Exceeded, so Set all members before that.
//
// A bound whose dimension puts no member into any group limits nothing. Unmatched names such bounds.
//
// # Reservations
//
// Reserve asks all bounds at once and counts the member as acted on from then on, so two goroutines that reserve at the
// same time never exceed a bound together. A Reservation ends in one of two ways. GiveBack means that nothing was done:
// everything is as if there had been no reservation. Commit means that the action has begun: it goes on until End, or
// until the member is removed, and counts as recent for as long as a bound looks back.
//
// Remove ends the member's action and shrinks the total. If a deleted node is replaced by another, keep the member
// until the replacement is ready, or set a Min on Healthy, as a Count: otherwise the next action begins at once.
//
// When a bound refuses, the error is a *Refusal: the bound, its group, what would be counted, what is allowed, and
// when time alone may change the answer. A change of a member, the end or the outcome of an action, and GiveBack may
// change it at any time. So ask again when a member of the group changes, when an action ends or is judged, when a
// reservation is given back, and at Next.
//
// # Trials
//
// Acting on many members does harm if the observer is wrong, or if their replacements are broken as well. A Bound on
// Unproven is a trial: act on one, see whether it helped, then act on more.
//
//	{Name: "one first", Per: "pool", Of: budget.Unproven, Max: budget.Percent(20).Up(),
//		Within: 10 * time.Minute, Unjudged: budget.Failed,
//		Cooldown: time.Minute, MaxCooldown: time.Hour, Quiet: 6 * time.Hour},
//
// At first, one action in each group may be unproven. Whoever learns what came of an action calls Judge. Each action
// that is Proved makes room for one more, so a round in which all are proved doubles the room, up to Max. One that has
// Failed reduces the room to one: actions that have begun go on, and the next begins once they have been judged and the
// Cooldown is over, which doubles with each failure. Inconclusive changes neither. An action that nobody has judged
// Within its time has the outcome Unjudged. Once no action has been unproven for the time Quiet, the trial begins with
// one again, because old proof says little about a new failure. Failures are forgotten when Quiet has passed after the
// end of their cooldown.
//
// An action is unproven from Commit or Adopt on, and a reservation counts too. End and Remove do not change that: a
// replaced machine is gone before its replacement has proved anything. A new action on a member replaces the last one
// if that is still unproven. Actions count as one each, whatever their members weigh. The time Within of an adopted
// action begins anew, because nobody knows what came of it before.
//
// # Several programs, and restarts
//
// Several programs may share a Budget, each under a name of its own (As). Reservations and actions under a name outlive
// the program that made them: a controller that takes the place of another uses its name, Adopts the actions that go
// on, and Ends the others.
//
// A Snapshot holds what a Budget cannot learn from members: which ones are acted on, which actions began when, which
// breakers are shut, and what trials have shown. After Restore a Budget decides as if no time had passed in between.
// Set the members again.
//
// A Budget starts no goroutine and is safe for concurrent use. It calls Config's functions only within Set, with no
// lock of its own.
//
// Package guard, below this one, makes an evictor keep to a Budget.
package budget
