// Package turns decides which failed node is acted on next. Nodes wait in their failure domain until its rate, the cap
// on the pace of all domains and the cap on failed nodes leave a turn for them:
//
//	Wait            of a node that is well, or has had its turn: it waits
//	Take            of one that waits: it has a turn
//	Later, Again    ends a turn before anything was done, or of which nothing came: it waits again
//	Drop, Unwanted  ends a turn that is not wanted any more: it is well
//	Served          ends a turn: the node was acted on, and has had its turn
//	Leave           it is well, whether it waited or has had its turn; a turn that it has is void, but not over
//
// A node that was acted on before a pause, and whose pods became overdue in it, waits to release them: it goes before
// the others of its domain, fails no other node, and has no more to its turn than that it has come.
//
// Turns holds no lock but that of the queue below it, reads no clock and calls nobody but Config.Prefer, in Take. Its
// owner guards it, and passes in the readings of the clock in their order.
package turns
