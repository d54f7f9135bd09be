package clockcases

import (
	"time"
	"unsafe"
)

// reading is how package time lays out a Time. Nothing exported makes one whose monotonic part differs from what the
// wall says, though the real clock shows such readings whenever somebody sets it. TestReadings notices when
// the layout changes.
type reading struct {
	wall uint64 // 1 bit: has a monotonic part; 33 bits: seconds since 1885; 30 bits: nanoseconds
	ext  int64  // the monotonic part in nanoseconds
	loc  *time.Location
}

const hasMonotonic = 1 << 63

var since1885 = time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()

// withMonotonic is the wall's reading with a monotonic part.
func withMonotonic(wall time.Time, elapsed time.Duration) time.Time {
	seconds := uint64(wall.Unix()-since1885) & (1<<33 - 1)
	(*reading)(unsafe.Pointer(&wall)).wall = hasMonotonic | seconds<<30 | uint64(wall.Nanosecond())
	(*reading)(unsafe.Pointer(&wall)).ext = int64(elapsed) + 1 // 0 is what readings of other clocks lack
	return wall
}
