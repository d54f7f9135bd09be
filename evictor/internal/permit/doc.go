// Package permit decides what is permitted now, and remembers which nodes wait for a permission. The strictest answer
// wins, and only this package combines them:
//
//	Write   writes of any kind               the program's MayWrite
//	Harm    taints and evictions             pauses, the observer's health, MayHarm; of one domain MayHarmIn
//	Own     evictions by our own taints      Harm, and what the zone policy says of the domain: go on, wait, or cancel
//
// An open permission is asked for every time. After a refusal the program is not asked again for an interval, or until
// Expire. A node that is refused waits for that permission in its domain, so that only such nodes are tried again when
// it is granted.
//
// Permits holds no lock, reads no clock and calls nobody: its owner asks the program, and passes on the answer.
package permit
