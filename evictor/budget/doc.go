// Package budget answers one question: may I act on one more?
//
// Whoever repairs, drains or evicts asks it before each action, and answers it with bounds: at most a fifth of a pool
// may be broken, at least three of a rack must be healthy, no more than two repairs at a time, ten in an hour, none
// until a storm has been over for ten minutes. A Budget holds any number of them at once, over any grouping of what
// it counts.
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
// A member is anything that has a key: a node, a machine, a pod. The program tells what it looks like with Set,
// whenever that changes, and Remove when it is gone. Config's predicates say of a member whether it counts in the
// total, whether it is bad, whether it may be acted on at all, and how much it weighs: a node with eight GPUs may
// count as eight.
//
// A Dimension puts each member into one group, by pool or zone or rack, or into none. A Bound holds for each group of
// its dimension apart or, without one, for all members together.
//
// # Bounds
//
// What a Bound counts is its Quantity, in weights:
//
//	Bad          members that are bad
//	Unavailable  those that are bad, acted on, or both
//	Healthy      those that are neither
//	Acting       those that are acted on now
//	Recent       those on which something was begun Within the time before
//
// Bad is compared with its limits as it is: an action does not make another member bad. The others are compared as
// they would be once the action had begun. Max is the most that there may be, Min the least: Bad with a Min of 1 and
// a Max of 3 acts while there are one to three bad members and leaves larger failures to people.
//
// A limit is a Count or a Percent of the group's total. A percentage is rounded down, as Kubernetes rounds most; Up
// rounds it up.
//
// With Quiet a bound on Bad, Unavailable or Healthy is a breaker: once it is exceeded it stays shut until it has been
// kept for that long without a break, to the limit Resume if there is one. Breakers begin to look with the first
// Reserve, so a program tells of all its members before it asks about one. With PerSecond a bound is a bucket of
// tokens, one for each action.
//
// # Reservations
//
// Reserve asks all bounds at once, and counts the member as acted on from then on: two goroutines that reserve at the
// same time never exceed a bound together. The Reservation ends in one of two ways. GiveBack says that nothing was
// done: all is as before. Commit says that it was: the action goes on until End, or until the member is removed, and
// stays among the recent ones for as long as a bound looks back.
//
// When a bound says no, the error is a *Refusal: the bound, its group, what would be counted, what is allowed, and
// when time alone may change the answer. A change of a member may change it at any time, so a program asks again when
// one of its group changes, and at Next.
//
// # After a restart
//
// A Snapshot holds what members do not tell: who is acted on, what was begun when, tokens, and breakers that are
// shut. A Budget that is made from it with Restore decides as if no time had passed in between. Members are told to
// it anew.
//
// A Budget starts no goroutine, calls the program only within Set, with nothing locked, and is safe for concurrent
// use.
package budget
