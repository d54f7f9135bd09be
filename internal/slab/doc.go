// Package slab keeps records by small numbers, as keyindex gives them out, in blocks of 1,024 numbers.
// The first blocks, and those in which few numbers are in use, have their records in chunks of 32: a chunk is made
// when the first of its numbers comes into use and given back when the last one goes. All others have them in
// one piece, which makes what is large quicker: there is less to look up, and it stays in the cache. A record does not
// move but when its block comes to have few; and no operation copies or clears more than one block of records.
//
// What is kept: the pieces and chunks that hold a record in use, a spare one of each, and 168 bytes for each
// block up to the greatest number ever used. A single survivor therefore keeps 32 records. The spare ones are
// what makes a chunk that empties and fills again at every operation cost no allocation.
package slab
