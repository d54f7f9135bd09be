package clockcases

import (
	"time"
	"unsafe"
)

// reading is how package time lays out a Time. No exported function makes a Time whose monotonic part differs from the
// wall clock, but the real clock returns such readings whenever somebody sets it. TestReadings fails if the layout
// changes.
type reading struct {
	wall uint64 // 1 bit: has a monotonic part; 33 bits: seconds since 1885; 30 bits: nanoseconds
	ext  int64  // the monotonic part in nanoseconds
	loc  *time.Location
}

const hasMonotonic = 1 << 63

var since1885 = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// withMonotonic adds a monotonic part to a wall clock time.
func withMonotonic(wall time.Time, elapsed time.Duration) time.Time {
	seconds := uint64(wall.Unix()-since1885) & (1<<33 - 1)
	(*reading)(unsafe.Pointer(&wall)).wall = hasMonotonic | seconds<<30 | uint64(wall.Nanosecond())
	(*reading)(unsafe.Pointer(&wall)).ext = int64(elapsed) + 1 // package time adds 1 as well, so that 0 can mean none
	return wall
}
