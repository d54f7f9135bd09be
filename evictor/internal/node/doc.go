// Package node decides about one node: what is remembered of it and how far its eviction is (Record, Stage), whether
// it may be harmed and, if not, why (Facts.Standing is the one place), and what is to be written to it (Input.Plan).
//
// To harm a node is to taint it NoExecute, to empty it of its pods, or to evict pods because of our own taints on it.
// What frees it, lifting, is never a question of its standing alone.
//
// It holds no lock, reads no clock and no store, and calls nobody. Its owner passes in what it has read.
package node
