// Package keyindex numbers keys: each key gets a small number for as long as it is in the index, and
// the numbers of removed keys are used again, the least one first, so that what stays gathers in the
// low numbers. What belongs to a key the caller keeps in a slab.Slab by that number. An operation
// hashes its key once. A key that cannot be hashed (of an interface type, holding a slice) panics and
// changes nothing. An Index is not safe for concurrent use, except that Find, Key, Len and Cap may run
// beside each other.
//
// No operation stops for the whole: the table is made of segments of 2,048 slots that split as they fill
// and merge as they empty, the first of which begins with 16, and the keys lie in a slab.Slab. Memory follows
// the keys that are there: 11 to 43 bytes a key for the table, the chunks of 32 keys in which one is left, one
// spare of each, and half a byte for each number ever given. When keys come and go, survivors of a peak give
// way only as they go themselves: a thousand of them, scattered among a million, keep the chunks of some
// thirty thousand numbers.
//
// Before Go 1.24 no program can hash any comparable key, so there the table is a map of Go: it too
// grows step by step, but allocates its new room at once, which for a million keys is some tens of
// megabytes to clear and may stop an operation for longer than a millisecond. Its room is given back by
// moving to a new map in small steps, so it takes as many further operations as there are numbers,
// divided by 64; or at once when the last key goes. A key that is not equal to itself (NaN) is never
// found again and must not be inserted.
package keyindex
