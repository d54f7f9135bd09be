package simulation

import (
	"math"
	"slices"
	"time"
)

// recording is a Trace that is sound.
type recording struct {
	*Trace
	largest int
}

// maxSample limits samples, so that their products with sizes of zones fit an int64.
const maxSample = math.MaxInt32

// newRecording reports all faults of a trace by itself; then it returns nil.
func newRecording(f faults, t *Trace) *recording {
	before := len(*f.found)
	if t.Gap <= 0 || t.Gap%time.Second != 0 {
		f.in("gap").add("%v is not a positive number of whole seconds", t.Gap)
	}
	if len(t.Alive) == 0 {
		f.in("alive").add("there are no values")
	}
	outside := func(sample int) bool { return sample < 0 || sample > maxSample }
	if i := slices.IndexFunc(t.Alive, outside); i >= 0 { // only the first, because a bad file often has thousands
		f.in("alive").add("value %d (from 0) is %d, outside 0…%d", i, t.Alive[i], maxSample)
	}
	if t.Scale < 0 {
		f.in("scale").add("%d is negative", t.Scale)
	}
	if len(*f.found) > before {
		return nil
	}
	return &recording{t, slices.Max(t.Alive)}
}

// index returns the number of the sample that holds at a time since the start.
func (r *recording) index(at time.Duration) int {
	return int(min(max(at, 0)/r.Gap, time.Duration(len(r.Alive)-1)))
}

// alive returns how many nodes of a zone of that size are alive while a sample with that value holds. With a scale it
// is sample*scale, at most the size. Without it is the sample's share of the trace's largest value:
// sample*size/largest, rounded to the nearest whole node, half up; 0 if the largest value is 0.
func (r *recording) alive(sample, zoneSize int) int {
	if r.Scale > 0 {
		if sample > zoneSize/r.Scale { // sample*scale itself might overflow
			return zoneSize
		}
		return sample * r.Scale
	}
	if r.largest == 0 {
		return 0
	}
	largest := int64(r.largest)
	return int((2*int64(sample)*int64(zoneSize) + largest) / (2 * largest))
}
