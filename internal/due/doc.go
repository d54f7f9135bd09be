// Package due has the two structures for whatever waits: a Map of records by key, and a Heap of items by due time.
// Neither is safe for concurrent use. Both give memory back when little is left of a peak.
package due

// few is how much is kept in any case, in entries: shrinking and growing again would cost more than that is worth.
const few = 8192

// excessive reports whether room for so many is to be given back when so few are left. Between two copies the number
// falls to an eighth, so copying costs little of the removals, and nothing is copied that comes and goes around any
// size.
func excessive(room, left int) bool { return room > few && left <= room/8 }
