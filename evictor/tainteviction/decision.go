package tainteviction

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
)

// Kind says what was decided about a pod.
// The kinds are [EvictionArmed], [EvictionMoved], [EvictionCancelled], [EvictionDelayed], [PodEvicted],
// [WriteFailed], [Awaiting] and [FunctionFailed].
type Kind string

// The kinds of decisions.
const (
	EvictionArmed     Kind = "EvictionArmed"     // the pod will be evicted at Deadline
	EvictionMoved     Kind = "EvictionMoved"     // that deadline changed
	EvictionCancelled Kind = "EvictionCancelled" // the pod will not be evicted; Reason says why
	EvictionDelayed   Kind = "EvictionDelayed"   // an eviction is due, but Reason holds it back; again when that changes or a writer refuses
	PodEvicted        Kind = "PodEvicted"        // the pod was evicted (reported after the write)
	WriteFailed       Kind = "WriteFailed"       // an eviction failed, and will be retried; Err says why
	Awaiting          Kind = "Awaiting"          // nothing is decided yet; Reason says what is missing, empty for nothing any more
	FunctionFailed    Kind = "FunctionFailed"    // a function of Options, which Reason names, has panicked; once a minute
)

// Decision is one thing that was decided about a pod, with its grounds.
type Decision struct {
	Time time.Time
	Kind Kind
	Pod  cluster.PodRef

	// Taint is the taint that decides the eviction. Toleration is the index in the pod's spec.tolerations of the one that
	// matches it (-1: none), Tolerated how long that lasts, and Deadline when it ends.
	Taint      *v1.Taint
	Toleration int
	Tolerated  time.Duration
	Deadline   time.Time

	// Reason is a short stable text. Cancelled: a Why of Verdicts (Unwanted if it is empty), TaintRemoved, Tolerated, Completed
	// or MirrorPod. Delayed: NotSettled (the next verdict decides), DisruptionBudget, TooManyRequests or a Gate's.
	Reason string
	Err    error
}
