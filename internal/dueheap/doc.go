// Package dueheap orders small numbers by a due time, and equal times by a sequence number: for ever, as
// these are never compared around an overflow. Every operation is O(log n), by number. It is not safe for
// concurrent use.
//
// It is a B+ tree whose leaves are in no order within, but for the first one: what is due first is taken from
// the beginning of a leaf and touches nothing that lies elsewhere, which is what makes a million of them quick; and
// removing any other number moves one more. Adding one has to find its leaf, unless it is due last.
//
// It grows and shrinks by leaves of 63 numbers, so no operation copies all. A leaf in which few are left
// is joined with one beside it when both together leave room. Of the places of the numbers it keeps a chunk
// for each 256 numbers of which one is there, and 12 bytes for each leaf that there ever was. Heaps whose numbers are
// never the same may share their places, so that many heaps of few numbers each cost no more than one.
package dueheap
