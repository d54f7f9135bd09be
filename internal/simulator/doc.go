// Package simulator plays a scenario through the evictor in virtual time. It has an in-memory cluster of compact
// records with simulated kubelets, a timeline of the writes, and figures about what became of the pods. The same
// scenario gives the same timeline on every run.
package simulator
