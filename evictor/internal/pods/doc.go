// Package pods decides about the pods of nodes that are tainted or, without taints, being emptied: since when each
// taint counts, which pods are known, when and why each must leave, what holds back an eviction that is due, which
// evictions the API server or the program has refused, and which pods are already evicted. A node that is being
// emptied is treated as one with a taint that no pod tolerates; pods of a DaemonSet are spared.
//
// The package holds no lock, reads no clock and no store, and calls nobody. Its owner passes in what it has read, and
// carries out the Actions that it returns.
package pods
