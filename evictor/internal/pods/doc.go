// Package pods decides about the pods of a tainted node: since when each taint counts, when a pod has to leave, and what holds
// it back when that time has come.
//
// It holds no lock, reads no clock and no store, and calls nobody. Its owner passes in what it has read.
package pods
