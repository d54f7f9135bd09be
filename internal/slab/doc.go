// Package slab keeps records by small numbers, such as those of keyindex, in chunks of 32. A chunk is allocated when
// the first of its numbers comes into use, and given back when the last one goes, so a single survivor keeps 32
// records. A record never moves, and no operation copies or clears records of more than one number.
//
// The memory kept is the chunks that hold a record, up to 16 spare ones, and 12 bytes, at most four times, for each 32
// numbers up to the greatest one in use. The spares make 512 records that come and go again and again cost no
// allocation. Other chunks that are not needed stay for the next garbage collections to take, unless they are used
// again before.
package slab
