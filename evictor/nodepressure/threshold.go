package nodepressure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Threshold says when a node is short of something: when less than Value is available. Available
// exactly equal to it is not short.
type Threshold struct {
	Signal Signal
	Value  Value
	// GracePeriod is how long the shortage must last before pods are evicted for it. A threshold
	// without one is hard.
	GracePeriod time.Duration
	// MinReclaim is how much more than Value must be available before a shortage that pods were, or
	// could have been, evicted for is over.
	MinReclaim Value
}

// Hard says whether pods are evicted at once, as soon as it is met.
func (t Threshold) Hard() bool { return t.GracePeriod == 0 }

// String is like "memory.available < 100Mi for 30s".
func (t Threshold) String() string {
	text := fmt.Sprintf("%s < %s", t.Signal, t.Value)
	if !t.Hard() {
		text += " for " + t.GracePeriod.String()
	}
	return text
}

// compareThresholds orders by what is acted on first: hard thresholds before soft ones, memory before
// everything else, then the order of the signals.
func compareThresholds(a, b Threshold) int {
	soft := func(t Threshold) int {
		if t.Hard() {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(soft(a), soft(b)), cmp.Compare(a.Signal.index(), b.Signal.index()))
}

// base is where the container file system's thresholds come from, by layout.
func (l Layout) base(containerFs Signal) Signal {
	switch {
	case l == DedicatedImageFs && containerFs == ContainerFsAvailable:
		return ImageFsAvailable
	case l == DedicatedImageFs:
		return ImageFsInodesFree
	case containerFs == ContainerFsAvailable:
		return NodeFsAvailable
	}
	return NodeFsInodesFree
}

// DeriveContainerFs returns the thresholds with those of the container file system made from those of
// the file system that it lies on: the image file system's with DedicatedImageFs, the kubelet's
// otherwise. Thresholds given for the container file system are overridden, and the error, which names
// each of them, is a warning: the result is as good as without it. The given slice is not changed.
func DeriveContainerFs(thresholds []Threshold, layout Layout) ([]Threshold, error) {
	var errs []error
	result := make([]Threshold, 0, len(thresholds)+4)
	for _, t := range thresholds {
		if t.Signal == ContainerFsAvailable || t.Signal == ContainerFsInodesFree {
			errs = append(errs, fmt.Errorf("nodepressure: threshold %s is overridden by that of %s", t, layout.base(t.Signal)))
			continue
		}
		result = append(result, t)
	}
	given := len(result)
	for _, signal := range []Signal{ContainerFsAvailable, ContainerFsInodesFree} {
		for _, t := range result[:given] {
			if t.Signal == layout.base(signal) {
				t.Signal = signal
				result = append(result, t)
			}
		}
	}
	slices.SortStableFunc(result, compareThresholds)
	return result, errors.Join(errs...)
}
