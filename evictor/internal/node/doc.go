// Package node decides about one node: what is remembered of it and how far its eviction is (Record, Stage); whether it
// may be harmed and, if not, why (only Facts.Standing decides that, and Record.Unclear whether its pods stay until the
// next verdict); and what to write to it (Input.Plan).
//
// To harm a node is to taint it NoExecute, to empty it of its pods, or to evict pods because of our own taints on it.
// Lifting its taints does not depend on its standing alone.
//
// The package holds no lock, reads no clock and no store, and calls nobody. Its owner passes in what it has read.
package node
