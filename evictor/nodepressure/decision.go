package nodepressure

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Action is what a Decision asks for: [Nothing], [ReclaimNode] or [EvictPods]. [Stuck] means that every pod is
// protected.
type Action uint8

// The actions.
const (
	// Nothing: nothing is short, or not for long enough, or the measurement is not new.
	Nothing Action = iota
	// ReclaimNode: first clean up what Decision.Reclaim lists, then call AfterReclaim.
	ReclaimNode
	// EvictPods: evict the pods in Decision.Evictions.
	EvictPods
	// Stuck: a pod would have to go, but every pod is protected.
	Stuck
)

var actionNames = [...]string{"Nothing", "ReclaimNode", "EvictPods", "Stuck"}

// String returns the name of the constant.
func (a Action) String() string {
	if int(a) >= len(actionNames) {
		return fmt.Sprintf("Action(%d)", uint8(a))
	}
	return actionNames[a]
}

// Reclaim is a kind of resource that the node holds and no running pod needs: [DeadContainers] or [UnusedImages].
type Reclaim uint8

// What can be reclaimed. For memory and process IDs the kubelet can only evict pods.
const (
	// DeadContainers are containers that have ended, with their writable layers and logs.
	DeadContainers Reclaim = iota + 1
	// UnusedImages are images that no running container uses.
	UnusedImages
)

// String returns the name of the constant.
func (r Reclaim) String() string {
	switch r {
	case DeadContainers:
		return "DeadContainers"
	case UnusedImages:
		return "UnusedImages"
	}
	return fmt.Sprintf("Reclaim(%d)", uint8(r))
}

// reclaims returns what to reclaim for a signal, in order.
func (l Layout) reclaims(signal Signal) []Reclaim {
	if signal.Condition() != v1.NodeDiskPressure {
		return nil
	}
	image := signal == ImageFsAvailable || signal == ImageFsInodesFree
	node := signal == NodeFsAvailable || signal == NodeFsInodesFree
	switch {
	case l == DedicatedImageFs && node:
		return nil
	case l == SplitImageFs && image:
		return []Reclaim{UnusedImages}
	case l == SplitImageFs:
		return []Reclaim{DeadContainers}
	}
	return []Reclaim{DeadContainers, UnusedImages}
}

// MetThreshold is a threshold that is met, and its state.
type MetThreshold struct {
	Threshold Threshold
	Sample    Sample
	// Since is when the machine first saw it met, without a break since.
	Since time.Time
	// Due: it has been met for its whole grace period.
	Due bool
	// Rising: the threshold is available again, but not its minimum reclaim as well.
	Rising bool
	// Stale: the sample is not newer than the previous one, so no pod goes because of it.
	Stale bool
}

// Decision is what Observe found, and what to do about it. Act on its Action; to show it to a human, call [Decision.Why]
// first. [Decision.Event] is what a kubelet records, and [Decision.Eviction] is for another pod than the first.
type Decision struct {
	// Time is when the decision was made.
	Time   time.Time
	Action Action
	// Conditions are the node's pressure conditions that are True now, in the order MemoryPressure, DiskPressure,
	// PIDPressure. Do not change the slice: later decisions may share it.
	Conditions []v1.NodeConditionType
	// Met are the met thresholds, in the order in which the machine acts on them.
	Met []MetThreshold
	// Unmeasured are the thresholds whose signal had no sample, so that nobody knows whether they are met. They count as
	// not met. Those that DeriveContainerFs added are left out: only some sources measure that file system.
	Unmeasured []Threshold

	// Threshold is the one that the decision acts on, and Sample the measurement that met it. Both are zero if Observe
	// finds nothing to do or evicts pods that exceed limits. AfterReclaim leaves them as they were.
	Threshold Threshold
	Sample    Sample
	// Reclaim is what to reclaim first, in order. It is set only with ReclaimNode.
	Reclaim []Reclaim
	// Ranked are all pods in the order in which they would go.
	Ranked []Candidate
	// Evictions are the pods to evict now: one for a threshold, or every pod that exceeds a limit. With ReclaimNode it
	// is the pod to evict if reclaiming is not enough.
	Evictions []Eviction

	maxSeconds int64
}

// Event returns the message that upstream records about the node, in a Warning with the reason EvictionThresholdMet. It
// is empty if there is nothing to record.
func (d *Decision) Event() string {
	if d.Threshold.Signal == "" {
		return ""
	}
	return fmt.Sprintf("Attempting to reclaim %s", d.Threshold.Signal.Resource())
}
