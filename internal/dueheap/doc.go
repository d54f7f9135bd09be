// Package dueheap orders small numbers by a due time, equal times by a sequence number: for ever, as
// these are never compared around an overflow, and what is equal in both by the number itself. Every operation is
// O(log n), by number. It is not safe for concurrent use.
//
// It is a B+ tree. Its leaves have 64 slots for numbers and are in no order within, but for the first one: what is due
// first is taken from the beginning of a leaf, which is what makes a million of them quick. Which slots are in use a
// word tells that lies beside those of other leaves: removing a number clears a bit of it and touches no leaf, and
// adding one writes into any free slot. What orders a number is in a slab, by number. The way down to a leaf reads due
// times that lie side by side; what is due last needs none, nor what is due first, and anything else waits in a leaf
// of its own, in no order, until that is full: then all in it go down, which is quicker than one by one.
//
// It grows and shrinks by leaves, so no operation copies all. A leaf in which a quarter is left is joined with one
// beside it when both together leave room. It keeps what a slab.Slab of 24 bytes a number keeps, the leaves that hold
// a number, and 36 bytes for each leaf that there ever was. Heaps whose numbers are never the same may share their
// places, so that many heaps of few numbers each cost no more than one.
package dueheap
