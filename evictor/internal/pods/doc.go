// Package pods decides about the pods of nodes that are tainted or, where nothing is tainted, being emptied: since when
// each taint counts, which pods are known, when each has to leave and why, what holds it back when that time has come,
// and whom the API server has refused or already lets go. A node that is being emptied is to its pods as one with a
// taint that none of them tolerates; those of a DaemonSet are spared.
//
// It holds no lock, reads no clock and no store, and calls nobody. Its owner passes in what it has read, and carries
// out the Actions it is given.
package pods
