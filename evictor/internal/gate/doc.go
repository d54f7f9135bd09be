// Package gate decides what is permitted now, and remembers which nodes wait for that. It is one list of gates, and
// Gates.May goes through it:
//
//	Write   writes of any kind               everywhere   the program's MayWrite
//	Harm    taints and evictions             everywhere   pauses, the observer's health, the program's MayHarm
//	                                         in a domain  the program's MayHarmIn
//	Own     evictions by our own taints      in a domain  the zone policy: go on, wait, or cancel
//	                                         of a node    the budget, likewise
//
// What is Own needs Harm too. An open gate of the program is asked every time. After a refusal the program is not
// asked again for an interval, or until Expire. A node that is refused waits, so that only such nodes are tried again
// when the gates open. The gate of one pod, MayEvict, is package pods'.
//
// Gates holds no lock, reads no clock and calls nobody: its owner asks the program, and passes on the answer.
package gate
