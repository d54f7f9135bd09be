// Package permit decides what may be done now, and remembers who waits until it may. The strictest answer wins, here
// and nowhere else:
//
//	Write   writes of any kind               the program's MayWrite
//	Harm    taints and evictions             pauses, the observer's health, MayHarm; of one domain its pauses and
//	                                         MayHarmIn
//	Own     evictions by our own taints      Harm, and what the zone policy says of the domain: go on, wait, or cancel
//
// An open permission is asked for every time. One that was refused is left alone for an interval, or until Expire.
// Whoever is refused waits by the permission and the domain, so that those and no others are tried again when it is
// granted.
//
// Permits holds no lock, reads no clock and calls nobody: its owner asks the program, and says what it answered.
package permit
