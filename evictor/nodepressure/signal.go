package nodepressure

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Signal names something that a node can be short of, as the kubelet's configuration names it:
//
//   - memory: [MemoryAvailable] and, for all pods together, [AllocatableMemoryAvailable]
//   - the kubelet's file system: [NodeFsAvailable], [NodeFsInodesFree]
//   - that of images: [ImageFsAvailable], [ImageFsInodesFree]
//   - that of writable layers: [ContainerFsAvailable], [ContainerFsInodesFree]
//   - processes: [PIDAvailable]
//
// [Signal.Condition] is the node condition that it sets, and [Signal.Resource] the resource that it measures.
type Signal string

// All signals, in the order that breaks ties.
const (
	// MemoryAvailable is capacity less working set, in bytes.
	MemoryAvailable Signal = "memory.available"
	// AllocatableMemoryAvailable is what is left of the memory for all pods together, in bytes. It has no setting of its
	// own: it takes the threshold of MemoryAvailable if node allocatable is enforced on pods.
	AllocatableMemoryAvailable Signal = "allocatableMemory.available"
	// NodeFsAvailable is the space of the kubelet's file system (volumes, logs), in bytes.
	NodeFsAvailable Signal = "nodefs.available"
	// NodeFsInodesFree is how many inodes the kubelet's file system has left.
	NodeFsInodesFree Signal = "nodefs.inodesFree"
	// ImageFsAvailable is the space of the file system of images, in bytes.
	ImageFsAvailable Signal = "imagefs.available"
	// ImageFsInodesFree is how many inodes the file system of images has left.
	ImageFsInodesFree Signal = "imagefs.inodesFree"
	// ContainerFsAvailable is the space of the file system of writable layers, in bytes. Its thresholds come from those of
	// another file system; see DeriveContainerFs.
	ContainerFsAvailable Signal = "containerfs.available"
	// ContainerFsInodesFree is how many inodes the file system of writable layers has left.
	ContainerFsInodesFree Signal = "containerfs.inodesFree"
	// PIDAvailable is how many more processes can run.
	PIDAvailable Signal = "pid.available"
)

// Resources without a name in k8s.io/api.
const (
	ResourceInodes v1.ResourceName = "inodes"
	ResourcePIDs   v1.ResourceName = "pids"
)

const signalCount = 9

// signalInfo is the node condition that a signal sets, and the resource that it measures.
type signalInfo struct {
	signal    Signal
	condition pressure
	resource  v1.ResourceName
}

var signals = [signalCount]signalInfo{
	{MemoryAvailable, memoryPressure, v1.ResourceMemory},
	{AllocatableMemoryAvailable, memoryPressure, v1.ResourceMemory},
	{NodeFsAvailable, diskPressure, v1.ResourceEphemeralStorage},
	{NodeFsInodesFree, diskPressure, ResourceInodes},
	{ImageFsAvailable, diskPressure, v1.ResourceEphemeralStorage},
	{ImageFsInodesFree, diskPressure, ResourceInodes},
	{ContainerFsAvailable, diskPressure, v1.ResourceEphemeralStorage},
	{ContainerFsInodesFree, diskPressure, ResourceInodes},
	{PIDAvailable, pidPressure, ResourcePIDs},
}

// Signals returns all signals in their order.
func Signals() []Signal {
	all := make([]Signal, signalCount)
	for i, s := range signals {
		all[i] = s.signal
	}
	return all
}

// settable returns the signals that can have thresholds of their own.
func settable() []Signal { return slices.DeleteFunc(Signals(), Signal.containerFs) }

// index returns the place of a signal in signals, -1 for an unknown one.
func (s Signal) index() int {
	for i := range signals {
		if signals[i].signal == s {
			return i
		}
	}
	return -1
}

// Valid reports whether the signal is known.
func (s Signal) Valid() bool { return s.index() >= 0 }

// Condition returns the node condition that reports the shortage, empty for an unknown signal.
func (s Signal) Condition() v1.NodeConditionType {
	if i := s.index(); i >= 0 {
		return conditionTypes[signals[i].condition]
	}
	return ""
}

// Resource returns the resource that is short, empty for an unknown signal.
func (s Signal) Resource() v1.ResourceName {
	if i := s.index(); i >= 0 {
		return signals[i].resource
	}
	return ""
}

// containerFs says whether the signal is one of the file system of writable layers.
func (s Signal) containerFs() bool { return s == ContainerFsAvailable || s == ContainerFsInodesFree }

// format returns how amounts of a resource are written: bytes in powers of two, counts in powers of ten.
func format(name v1.ResourceName) resource.Format {
	if name == ResourceInodes || name == ResourcePIDs {
		return resource.DecimalSI
	}
	return resource.BinarySI
}

// Layout says which file systems a node has: [SingleFs], which is the zero Layout, [DedicatedImageFs] or [SplitImageFs].
type Layout uint8

// The layouts that the kubelet supports.
const (
	// SingleFs: volumes, logs, images and writable layers share one file system.
	SingleFs Layout = iota
	// DedicatedImageFs: images and writable layers are on a file system of their own.
	DedicatedImageFs
	// SplitImageFs: images are on a file system of their own, writable layers on the kubelet's.
	SplitImageFs
)

var layoutNames = [...]string{"SingleFs", "DedicatedImageFs", "SplitImageFs"}

// String returns the name of the constant.
func (l Layout) String() string {
	if int(l) >= len(layoutNames) {
		return fmt.Sprintf("Layout(%d)", uint8(l))
	}
	return layoutNames[l]
}

// MarshalText writes the name; an invalid Layout is an error.
func (l Layout) MarshalText() ([]byte, error) {
	if int(l) >= len(layoutNames) {
		return nil, fmt.Errorf("nodepressure: %s is not a layout", l)
	}
	return []byte(layoutNames[l]), nil
}

// UnmarshalText reads what MarshalText wrote. An unknown name is an error and changes nothing.
func (l *Layout) UnmarshalText(text []byte) error {
	for i, name := range layoutNames {
		if name == string(text) {
			*l = Layout(i)
			return nil
		}
	}
	return fmt.Errorf("nodepressure: unknown layout %q, want one of %v", text, layoutNames)
}
