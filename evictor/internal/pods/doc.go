// Package pods decides about the pods of tainted nodes: since when each taint counts, which pods are known, when each
// has to leave and why, what holds it back when that time has come, and whom the API server has refused or already
// lets go.
//
// It holds no lock, reads no clock and no store, and calls nobody. Its owner passes in what it has read, and carries
// out the Actions it is given.
package pods
