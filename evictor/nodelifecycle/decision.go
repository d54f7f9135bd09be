package nodelifecycle

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/zone"
)

// Kind says what was decided. Those marked (written) are reported after the write, the others when they are decided.
// The kinds are [NodeRegistered], [NodeRemoved], [NodeVerdict], [ConditionsWritten], [LabelsWritten], [NodeQueued],
// [TurnRefused], [NodeDequeued], [TurnEnded], [TaintsWritten], [NodeEmptied], [PodEvicted], [PodDelayed],
// [PodSpared], [PodMarkedNotReady], [ZoneChanged], [AllZonesDown], [AllZonesDownEnded], [GateChanged], [Awaiting],
// [WriteFailed], [Passed], [FunctionFailed] and [LeasesUnread].
type Kind string

// The kinds of decisions. A TurnEnded has one of these reasons: Served, what it was for was done; Spent, nothing was done, and
// the node waits for another turn; Dropped, nothing was left to do. Without taints, a node of which one pod was deleted was
// Served; a NodeQueued follows if more are left. Undone comes after Served: the store, newer than the write, does not show the taint.
const (
	NodeRegistered    Kind = "NodeRegistered"    // a node was seen for the first time
	NodeRemoved       Kind = "NodeRemoved"       // a node is gone, or another one has taken its name; its turn is over, too
	NodeVerdict       Kind = "NodeVerdict"       // the observed readiness of a node changed; Unknown is told after its lease was read
	ConditionsWritten Kind = "ConditionsWritten" // conditions of a silent node were set to Unknown (written)
	LabelsWritten     Kind = "LabelsWritten"     // the deprecated os and arch labels were set (written)
	NodeQueued        Kind = "NodeQueued"        // a failed node waits for its turn, at its zone's rate
	TurnRefused       Kind = "TurnRefused"       // its turn has come, and the Gate refuses it
	NodeDequeued      Kind = "NodeDequeued"      // a node no longer waits; Reason says why
	TurnEnded         Kind = "TurnEnded"         // its turn is over: Served, Spent, Dropped or Undone; see below
	TaintsWritten     Kind = "TaintsWritten"     // a node's taints were changed (written)
	NodeEmptied       Kind = "NodeEmptied"       // the pods of a failed node were deleted, without taints (written); Reason NoPods: it had none
	PodEvicted        Kind = "PodEvicted"        // a pod was deleted because its node failed, without taints (written)
	PodDelayed        Kind = "PodDelayed"        // that is due, but Reason holds it back
	PodSpared         Kind = "PodSpared"         // a pod on such a node stays; Reason says why
	PodMarkedNotReady Kind = "PodMarkedNotReady" // a pod of a silent node was marked not Ready (written)
	ZoneChanged       Kind = "ZoneChanged"       // a zone changed state or rate
	AllZonesDown      Kind = "AllZonesDown"      // every zone with a counted node is fully disrupted
	AllZonesDownEnded Kind = "AllZonesDownEnded" // at least one no longer is
	GateChanged       Kind = "GateChanged"       // writes, or harm in Zone, are refused (Err says why) or permitted again
	Awaiting          Kind = "Awaiting"          // nothing is decided yet; Reason says what is missing, empty for nothing any more
	WriteFailed       Kind = "WriteFailed"       // a write failed, and will be retried; Err says why
	Passed            Kind = "Passed"            // a monitor pass is over, which took Took
	FunctionFailed    Kind = "FunctionFailed"    // a function of Options, which Reason names, has panicked, or ruled a rate that is no number; once a minute
	LeasesUnread      Kind = "LeasesUnread"      // a node is silent, and nobody calls Silent: what the watch of leases loses counts as silence; once
)

// Decision is one thing that was decided, with its grounds. Kind says which fields are set.
type Decision struct {
	Time    time.Time
	Kind    Kind
	Node    string
	NodeUID types.UID
	Pod     cluster.PodRef

	From, To       v1.ConditionStatus // the readiness before and after (NodeVerdict)
	Silence, Grace time.Duration      // how long no heartbeat was seen, and how long that may last
	Conditions     []v1.NodeCondition // ConditionsWritten
	Added, Removed []v1.Taint         // TaintsWritten

	Zone             zone.Key // of a node or of a zone; also of GateChanged for harm
	FromState, State zone.State
	Rate             float64
	Counts           zone.Counts

	Took   time.Duration // Passed
	Absent time.Duration // Passed: for how long the controller had not run before, if that was longer than it ever waits

	Reason string // a short stable text
	Err    error  // what failed, or why something is refused
}
