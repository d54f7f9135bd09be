// Package slab keeps records by small numbers, such as those of keyindex. The records of the first 4,096 numbers are in
// chunks of 32. All others are in blocks of 1,024; blocks with few numbers in use keep their records in chunks too. A
// chunk is allocated when the first of its numbers comes into use, and given back when the last one goes. All other
// blocks keep their records in one piece. That is faster if there are many, because there is less to look up and it
// stays in the cache. A record moves only when its block goes from one piece to chunks. No operation copies or clears
// more than one block.
//
// The memory kept is the pieces and chunks that hold a record, up to 32 spare chunks, and up to 176 bytes for each
// block up to the greatest number ever used. So a single survivor keeps 32 records. The spares make 1,024 records that
// come and go again and again cost no allocation. Other pieces and chunks that are not needed stay for the next garbage
// collections to take, unless they are used again before.
package slab
