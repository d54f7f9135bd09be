// Package dueheap orders small numbers by due time; equal times by a sequence number; and equal sequence numbers by the
// number itself. Every operation is O(log n). It is not safe for concurrent use.
//
// It is a B+ tree. A leaf has 64 slots for numbers. Only the first leaf is kept in order, because what is due first is
// taken from there; that makes taking a million numbers fast. The slots of all other leaves are in no order. One word
// per leaf, stored next to those of other leaves, says which slots are in use: removing a number clears one bit without
// touching the leaf, and adding one writes to any free slot. Due times and sequence numbers are in a slab, by number.
// The search for a leaf reads due times that lie side by side. A number that belongs to the first or the last leaf
// needs no search. Any other number waits, unordered, until there are 64 of them. They are then moved down together,
// which is faster than one by one.
//
// The heap grows and shrinks leaf by leaf, so no operation copies everything. A leaf that is down to a quarter is
// merged with its neighbour if both together leave room. The memory kept is a slab.Slab with 24 bytes per number, the
// leaves that hold a number, and 36 bytes for each leaf there ever was. Heaps that never hold the same number may share
// their Places, so that many small heaps cost no more than one.
package dueheap
