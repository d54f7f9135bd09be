// Package simulator plays a scenario through the evictor in virtual time: an in-memory cluster of compact
// records with simulated kubelets, the writes that reach it as a timeline, and what became of the pods in
// figures. The same scenario gives the same timeline on every run.
package simulator
