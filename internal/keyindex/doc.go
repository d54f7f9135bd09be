// Package keyindex numbers keys. A key has a small number for as long as it is in the index. Numbers of removed keys
// are used again, the smallest first, so that the remaining keys gather in the low numbers. A Table keeps a record with
// each key; with an Index, the caller keeps records in a slab.Slab by number. An operation hashes its key once. A key
// that cannot be hashed (an interface that holds a slice, for example) panics and changes nothing. A key that is not
// equal to itself (NaN) would never be found again and must not be inserted. An Index is not safe for concurrent use,
// except that Find, Key, Len and Cap may run at the same time.
//
// The key that was deleted last stays in its place, without its record, until another key is inserted or deleted, or no
// key is left. So a key that is deleted and inserted again at once, such as work whose time has changed, gets its old
// number back without being hashed or looked up.
//
// No operation rebuilds the whole table. It consists of segments of 2,048 slots that split as they fill and merge as
// they empty; the first one starts with 16 slots, and the last one keeps the 16 KiB that it has come to. The keys are
// in a slab.Slab. Memory follows the number of keys: 11 to 43 bytes per key for the table, the chunks of 32 keys in
// which at least one is left, one spare of each, and half a byte for each number ever given out. Keys that survive a
// peak keep memory: a thousand of them, scattered among a million, keep the chunks of some thirty thousand numbers.
package keyindex
