// Package turns decides which failed node is acted on next. Nodes wait in their failure domain until its rate, the cap
// on the pace of all domains and the cap on nodes that are acted on leave a turn for them:
//
//	Wait            a failed node waits
//	Take            a waiting node gets its turn
//	Later, Again    end a turn: nothing was done, or nothing came of it; the node waits again
//	Drop            ends a turn that is no longer wanted; the node no longer waits
//	Served          ends a turn: the node was acted on, and counts as that
//	Leave           the node no longer waits; a turn that it has is void, not over
//
// A node that was acted on before a pause, and whose pods became overdue during it, waits for a turn to release them.
// It goes before the other nodes of its domain, counts as no other one that is acted on, and its turn is over when it
// is handed out.
//
// Turns holds no lock but that of the queue below it, reads no clock, and calls nobody but Config.Prefer, in Take. Its
// owner guards it, and passes in the readings of the clock in order.
package turns
