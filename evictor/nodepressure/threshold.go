package nodepressure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// errDerived is the answer to a threshold on the file system of writable layers.
var errDerived = errors.New("has no threshold of its own: it takes that of nodefs or imagefs, on which it is; set that one")

// Threshold says when a node is short of something: when less than Value is available. Exactly Value is not short.
type Threshold struct {
	Signal Signal
	Value  Value
	// GracePeriod is how long the shortage must last before pods go for it. A threshold without a grace period is hard.
	GracePeriod time.Duration
	// MinReclaim is how much more than Value must be available to end a shortage that was due. It does not count on a node
	// whose capacity is not more than both together, where it could never be reached.
	MinReclaim Value
}

// Hard reports whether pods go as soon as the threshold is met.
func (t Threshold) Hard() bool { return t.GracePeriod == 0 }

// String returns text such as "memory.available < 100Mi for 30s".
func (t Threshold) String() string {
	text := fmt.Sprintf("%s < %s", t.Signal, t.Value)
	if !t.Hard() {
		text += " for " + t.GracePeriod.String()
	}
	return text
}

// unreachable says why no capacity has both the value and the minimum reclaim, nil if one may have.
func (t Threshold) unreachable() error {
	if both := t.Value.Percentage + t.MinReclaim.Percentage; t.MinReclaim.Percentage > 0 && both > 1-1e-6 {
		return fmt.Errorf("can never be reached: with the threshold of %s it is %s of the capacity or more; it must be less than %s",
			t.Value, Value{Percentage: both}, Value{Percentage: 1 - t.Value.Percentage})
	}
	return nil
}

// compareThresholds puts first what is acted on first: hard thresholds before soft ones, memory before everything else,
// then by the order of the signals.
func compareThresholds(a, b Threshold) int {
	return cmp.Or(compareBool(a.Hard(), b.Hard()), cmp.Compare(a.Signal.index(), b.Signal.index()))
}

// base returns the signal from which the thresholds of a container file system signal are derived.
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

// DeriveContainerFs replaces the thresholds of the container file system by those of the file system it is on: the
// image file system with DedicatedImageFs, the kubelet's otherwise. The error names each given threshold that this
// overrides. It is only a warning: the result is valid. The given slice stays as it is.
func DeriveContainerFs(thresholds []Threshold, layout Layout) ([]Threshold, error) {
	var errs []error
	result := make([]Threshold, 0, len(thresholds)+4)
	for _, t := range thresholds {
		if t.Signal.containerFs() {
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
