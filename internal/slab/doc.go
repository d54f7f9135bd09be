// Package slab keeps records by small numbers, as keyindex gives them out, in chunks of 32 numbers.
// A chunk is made when the first of its numbers comes into use and given back when the last one goes,
// so a record never moves, and no operation copies or clears more than one chunk of records.
//
// What is kept: the chunks that hold a record in use, one spare chunk, and 12 bytes for every 32
// numbers up to the greatest one ever used. A single survivor therefore keeps 32 records. The spare
// chunk is what makes a chunk that empties and fills again at every operation cost no allocation.
package slab
