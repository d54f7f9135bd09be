// Package budget answers one question: may I act on one more?
//
// A program that repairs, drains or evicts asks it before each action. The answer comes from bounds: at most a fifth of
// a pool may be broken, at least three nodes of a rack must be healthy, no more than two repairs at a time, ten in an
// hour, none until a storm has been over for ten minutes. A Budget holds any number of them at once, over any grouping
// of what it counts.
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
// Bad is compared with its limits as it is, because an action does not make another member bad. The others are compared
// as they would be once the action had begun. Max is the upper limit, Min the lower one: Bad with a Min of 1 and a Max
// of 3 allows actions while one to three members are bad, and leaves larger failures to people.
//
// A limit is a Count, or a Percent of the group's total. A percentage is rounded down, as Kubernetes usually does; Up
// rounds it up.
//
// With Quiet, a bound on Bad, Unavailable or Healthy is a breaker: once it is exceeded it stays shut until its limit
// has been kept for that long without a break. Actions that have begun can shut it, reservations cannot. Breakers start
// with the first Reserve, so Set all members before that.
//
// A bound whose dimension puts no member into any group limits nothing: Unmatched names it.
//
// # Reservations
//
// Reserve asks all bounds at once and counts the member as acted on from then on, so two goroutines that reserve at the
// same time never exceed a bound together. A Reservation ends in one of two ways. GiveBack means that nothing was done
// and everything is as if it had never been reserved. Commit means that the action has begun: it goes on until End, or
// until the member is removed, and counts as recent for as long as a bound looks back.
//
// When a bound refuses, the error is a *Refusal: the bound, its group, what would be counted, what is allowed, and
// when time alone may change the answer. A change of a member, or the outcome of an action, may change it at any
// time. So ask again when a member of the group changes or an action is judged, and at Next.
//
// # Trials
//
// Acting on many members is wrong when the picture is wrong: the observer is cut off, or what replaces them is
// broken as well. A Bound on Unproven is a trial: act on one, see whether it helped, then act on more.
//
//	{Name: "one first", Per: "pool", Of: budget.Unproven, Max: budget.Percent(20).Up(),
//		Within: 10 * time.Minute, Unjudged: budget.Failed,
//		Cooldown: time.Minute, MaxCooldown: time.Hour, Quiet: 6 * time.Hour},
//
// In each group one action may be unproven at first. Whoever learns what came of an action says so with Judge. Each
// one that is Proved makes room for one more, so a round of which all are proved doubles the room, up to Max. One
// that has Failed leaves room for one only: those that have begun go on, and the next begins once they have been
// judged and the Cooldown is over, which doubles with each failure. Inconclusive changes neither. What nobody has
// judged Within its time counts as Unjudged says. Once nothing has been unproven for the time Quiet, the trial
// begins with one again, since what was proved then says little of what fails now; failures are forgotten that long
// after their cooldown.
//
// An action is unproven from Commit or Adopt on, and a reservation counts as well. End and Remove do not change
// that: a machine that was replaced is gone before its replacement has proved anything. A new action on a member
// whose last one is unproven takes its place. Actions count as one each, whatever their members weigh. One that is
// adopted has its whole time before it, because nobody knows what came of it before.
//
// # Several programs, and restarts
//
// Several programs may share a Budget, each under a name of its own (As). What was reserved or begun under a name waits
// for whoever uses that name next: a controller that takes the place of another finds the actions still counted, Adopts
// those that go on, and Ends the others.
//
// A Snapshot holds what cannot be learned from members: which ones are acted on, which actions began when, which
// breakers are shut, and what trials have shown. After Restore a Budget decides as if no time had passed in
// between. Members must be Set again.
//
// A Budget starts no goroutine and is safe for concurrent use. It calls Config's functions only within Set, with no
// lock held.
package budget
