package tainteviction

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
)

// Kind says what was decided about a pod.
// The kinds are [EvictionArmed], [EvictionMoved], [EvictionCancelled], [EvictionDelayed], [PodEvicted],
// [WriteFailed], [Awaiting] and [FunctionFailed].
type Kind uint8

// The kinds of decisions.
const (
	EvictionArmed     Kind = iota + 1 // the pod will be evicted at Deadline
	EvictionMoved                     // that deadline changed
	EvictionCancelled                 // the pod will not be evicted; Reason says why
	EvictionDelayed                   // an eviction is due, but Reason holds it back; again when that changes or a writer refuses
	PodEvicted                        // the pod was evicted (reported after the write)
	WriteFailed                       // an eviction failed, and will be retried; Err says why
	Awaiting                          // nothing is decided yet; Reason says what is missing, empty for nothing any more
	FunctionFailed                    // a function of Options, which Reason names, has panicked; once a minute
)

var kindNames = [...]string{"", "EvictionArmed", "EvictionMoved", "EvictionCancelled", "EvictionDelayed", "PodEvicted", "WriteFailed", "Awaiting", "FunctionFailed"}

// String returns the name of the constant.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

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

	// Reason is a short stable text. Cancelled: a Why of Verdicts, TaintRemoved, Tolerated, Completed or MirrorPod. Delayed:
	// NotSettled (the next verdict decides), DisruptionBudget, TooManyRequests or a Gate's.
	Reason string
	Err    error
}
