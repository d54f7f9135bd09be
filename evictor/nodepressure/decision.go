package nodepressure

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Action is what a Decision says to do.
type Action uint8

// The actions.
const (
	// Nothing: the node is short of nothing, not for long enough, or nothing new was measured.
	Nothing Action = iota
	// ReclaimNode: first get back what no pod uses, as Decision.Reclaim lists it, then ask AfterReclaim.
	ReclaimNode
	// EvictPods: evict the pods in Decision.Evictions.
	EvictPods
	// Stuck: pods would have to go, and there is none that may be evicted.
	Stuck
)

var actionNames = [...]string{"Nothing", "ReclaimNode", "EvictPods", "Stuck"}

// String is the name of the constant.
func (a Action) String() string {
	if int(a) >= len(actionNames) {
		return fmt.Sprintf("Action(%d)", uint8(a))
	}
	return actionNames[a]
}

// Reclaim is a kind of resource that the node keeps and no running pod needs.
type Reclaim uint8

// What can be reclaimed. The kubelet gets memory and processes back from pods only.
const (
	// DeadContainers are containers that have ended, with their writable layers and logs.
	DeadContainers Reclaim = iota + 1
	// UnusedImages are images of which no container runs.
	UnusedImages
)

// String is the name of the constant.
func (r Reclaim) String() string {
	switch r {
	case DeadContainers:
		return "DeadContainers"
	case UnusedImages:
		return "UnusedImages"
	}
	return fmt.Sprintf("Reclaim(%d)", uint8(r))
}

// reclaims is what to reclaim for a signal, in order.
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

// MetThreshold is a threshold below which the node is, with what is known of it.
type MetThreshold struct {
	Threshold Threshold
	Sample    Sample
	// Since is when it was first seen to be met, without a break.
	Since time.Time
	// Due: the grace period has passed since then.
	Due bool
	// Rising: enough is available again, but less than the threshold and its minimum reclaim together.
	Rising bool
	// Stale: the sample is not newer than the one before, so that nothing is evicted because of it.
	Stale bool
}

// Decision is what Observe found and what is to be done about it.
type Decision struct {
	// Time is when it was taken.
	Time   time.Time
	Action Action
	// Conditions are the node's pressure conditions that are True now, in the order MemoryPressure,
	// DiskPressure, PIDPressure. It must not be changed: later decisions with the same ones share it.
	Conditions []v1.NodeConditionType
	// Met are the thresholds that are met, in the order in which they would be acted on.
	Met []MetThreshold

	// Threshold is the one that is acted on, with the sample that met it. Both are zero when Observe finds
	// Nothing to do, and when pods are evicted for exceeding limits. AfterReclaim leaves them as they were.
	Threshold Threshold
	Sample    Sample
	// Reclaim is what to reclaim first, in order; set with ReclaimNode only.
	Reclaim []Reclaim
	// Ranked are all pods in the order of their eviction.
	Ranked []Candidate
	// Evictions are the pods to evict now: one for a threshold, every one that exceeds a limit. With
	// ReclaimNode it is the one that goes if that was not enough.
	Evictions []Eviction

	maxSeconds int64
}

// Event is what upstream records about the node, as a Warning with the reason EvictionThresholdMet;
// empty where there is nothing to record.
func (d *Decision) Event() string {
	if d.Threshold.Signal == "" {
		return ""
	}
	return fmt.Sprintf("Attempting to reclaim %s", d.Threshold.Signal.Resource())
}
