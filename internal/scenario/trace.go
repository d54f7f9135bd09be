package scenario

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Trace is a recorded number of machines. Sample j holds from j*gap on, the last one for ever. NewTrace makes it. It
// does not change, and is safe for concurrent use.
type Trace struct {
	gap     time.Duration
	data    []int
	largest int
}

// maxSample limits samples, so that their products with sizes of zones fit an int64.
const maxSample = math.MaxInt32

// NewTrace makes a trace of samples taken every gapSeconds. It returns all faults: a gap that is not positive, no
// samples, or a sample that is negative or too large. It keeps data, which must not change.
func NewTrace(gapSeconds int, data []int) (*Trace, error) {
	var errs []error
	if gapSeconds <= 0 || int64(gapSeconds) > math.MaxInt64/int64(time.Second) {
		errs = append(errs, fmt.Errorf("gap_seconds %d is not a positive number of seconds", gapSeconds))
	}
	if len(data) == 0 {
		errs = append(errs, errors.New("data is empty"))
	}
	outside := func(sample int) bool { return sample < 0 || sample > maxSample }
	if i := slices.IndexFunc(data, outside); i >= 0 { // only the first, because a bad file often has thousands
		errs = append(errs, fmt.Errorf("data: sample %d (from 0) is %d, outside 0…%d", i, data[i], maxSample))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Trace{gap: time.Duration(gapSeconds) * time.Second, data: data, largest: slices.Max(data)}, nil
}

// Gap returns how long a sample holds.
func (t *Trace) Gap() time.Duration { return t.gap }

// Len returns the number of samples, at least one.
func (t *Trace) Len() int { return len(t.data) }

// Sample returns the value of sample j, counted from 0.
func (t *Trace) Sample(j int) int { return t.data[j] }

// Index returns the number of the sample that holds at a time since the start.
func (t *Trace) Index(at time.Duration) int {
	return int(min(max(at, 0)/t.gap, time.Duration(len(t.data)-1)))
}

// Alive returns how many nodes of a zone of that size are alive while a sample with that value holds. With a scale it
// is sample*scale, at most the size. Without (nil) it is the sample's share of the trace's largest value:
// sample*size/largest, rounded to the nearest whole node, half up; 0 if the largest value is 0.
func (t *Trace) Alive(sample, zoneSize int, scale *int) int {
	if scale != nil {
		if *scale > 0 && sample > zoneSize / *scale { // sample*scale itself might overflow
			return zoneSize
		}
		return sample * max(*scale, 0)
	}
	if t.largest == 0 {
		return 0
	}
	largest := int64(t.largest)
	return int((2*int64(sample)*int64(zoneSize) + largest) / (2 * largest))
}
