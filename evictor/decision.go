//go:build !thin

package evictor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/zone"
)

// Kind says what was decided. The zero Kind is no decision. By what they are about, the kinds are:
//
//   - what is known of a node: [NodeRegistered], [NodeVerdict], [SuspectAlive], [SuspectUnanswered], [ConditionsWritten],
//     [LabelsWritten], [NodeRemoved]
//   - its turn to be tainted or emptied: [NodeQueued], [TurnRefused], [NodeDequeued], [TaintsWritten], [PendingChanged],
//     [NodeEmptied]
//   - its pods: [MarkingWaits], [PodMarkedNotReady], [EvictionArmed], [EvictionMoved], [EvictionDelayed],
//     [EvictionCancelled], [PodSpared], [PodEvicted]
//   - zones: [ZoneChanged], [AllZonesDown], [AllZonesDownEnded]
//   - the evictor itself: [Awaiting], [GateChanged], [DomainGateChanged], [BoundsUnmatched], [WriteFailed]
type Kind uint8

// The kinds of decisions. The evictor reports those marked (written) after the write has succeeded, the others when it
// makes them.
const (
	// NodeVerdict: the observed readiness of a node changed.
	NodeVerdict Kind = iota + 1
	// ConditionsWritten: conditions of a silent node were set to Unknown (written).
	ConditionsWritten
	// ZoneChanged: a zone changed state or rate.
	ZoneChanged
	// AllZonesDown: every zone with a counted node is fully disrupted.
	AllZonesDown
	// AllZonesDownEnded: at least one of them is no longer fully disrupted.
	AllZonesDownEnded
	// NodeQueued: a failed node waits for its turn, at its zone's rate.
	NodeQueued
	// NodeDequeued: a node no longer waits, because there is no need to act on it; Reason says why.
	NodeDequeued
	// TaintsWritten: a node's taints were changed (written).
	TaintsWritten
	// LabelsWritten: the deprecated os and arch labels were set to what the stable ones say (written).
	LabelsWritten
	// PodMarkedNotReady: a pod of an unreachable node had its Ready condition set to False (written).
	PodMarkedNotReady
	// EvictionArmed: a pod will be evicted at Deadline. When the evictor empties a node, without taints, it reports
	// neither this nor the next two kinds.
	EvictionArmed
	// EvictionMoved: that deadline changed.
	EvictionMoved
	// EvictionCancelled: the pod will not be evicted; Reason says why.
	EvictionCancelled
	// EvictionDelayed: an eviction is due, but Reason holds it back. It comes again when the reason changes, and each time
	// the API server refuses the eviction (DisruptionBudget, TooManyRequests). A refusal by Options.MayEvict comes again
	// only when its text changes.
	EvictionDelayed
	// PodEvicted: the pod was evicted (written).
	PodEvicted
	// PodSpared: a pod on a failed node stays; Reason says why.
	PodSpared
	// WriteFailed: a write failed, and the evictor will retry it; Err says why.
	WriteFailed
	// GateChanged: a permission for writes, or for taints and evictions, closed (Err says why) or opened again (Err is
	// nil); Reason says which.
	GateChanged
	// NodeRegistered: a node was seen for the first time.
	NodeRegistered
	// NodeRemoved: a node is gone, or another one has taken its name.
	NodeRemoved
	// NodeEmptied: the pods of a failed node were deleted, without taints (written).
	NodeEmptied
	// Awaiting: the evictor decides nothing yet; Reason says what is missing. An empty Reason means that nothing is
	// missing any more.
	Awaiting
	// DomainGateChanged is GateChanged for the failure domain Zone alone; Reason says what waits or goes on. If Err is not
	// nil, it says why: a pause, Options.MayHarmIn or the zone policy.
	DomainGateChanged
	// TurnRefused: a failed node's turn has come, and Options.Budget refuses it; Err says which bound. The node keeps
	// waiting. This kind comes again only if another bound refuses.
	TurnRefused
	// PendingChanged: Options.Exceeded has changed what becomes of the pending evictions on a node that the evictor has
	// acted on. Reason says what, and Err which bound is exceeded; nil means none any more.
	PendingChanged
	// BoundsUnmatched: bounds of Options.Budget limit nothing, because there are nodes, but none is in a group of the
	// bound's dimension (a misspelled label does that). Reason names the bounds. An empty Reason means that there are none
	// any more.
	BoundsUnmatched
	// SuspectAlive: Clients.Confirmer says that a node is alive that had sent no heartbeat for its grace period.
	SuspectAlive
	// SuspectUnanswered: Clients.Confirmer cannot say whether a silent node is alive; Err says why. The node's verdict
	// waits. This kind comes once, and again if Err changes.
	SuspectUnanswered
	// MarkingWaits: the pods of a silent node stay Ready for now, because in its zone the pods of only so many nodes are
	// marked at once (Config.MaxMarkedNodes, zone.Ruling.MaxMarked).
	MarkingWaits
)

const (
	reasonTimeout = "PodEvictionTimeout"
	reasonNoPods  = "NoPods"
	reasonBudget  = "Budget"
)

var kindNames = [...]string{
	"", "NodeVerdict", "ConditionsWritten", "ZoneChanged", "AllZonesDown", "AllZonesDownEnded", "NodeQueued", "NodeDequeued",
	"TaintsWritten", "LabelsWritten", "PodMarkedNotReady", "EvictionArmed", "EvictionMoved", "EvictionCancelled", "EvictionDelayed", "PodEvicted",
	"PodSpared", "WriteFailed", "GateChanged", "NodeRegistered", "NodeRemoved", "NodeEmptied", "Awaiting", "DomainGateChanged", "TurnRefused", "PendingChanged", "BoundsUnmatched",
	"SuspectAlive", "SuspectUnanswered", "MarkingWaits",
}

// String returns the name of the constant.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Decision is one thing that the evictor decided, with its grounds. Kind says which fields are set. It is a value, and
// you may keep it.
type Decision struct {
	Time time.Time
	Kind Kind
	Node string
	// NodeUID is set for the kinds that may lead to a Kubernetes event about the node.
	NodeUID types.UID
	Pod     PodRef
	// With names the condemned pod if this pod is not condemned itself but leaves with that one (Options.Together). Taint,
	// Toleration and Deadline are then those of the condemned pod.
	With PodRef

	// From and To are the readiness before and after (NodeVerdict); empty means no Ready condition.
	From, To v1.ConditionStatus
	// Silence is how long the evictor had seen no heartbeat at the time of the verdict, or of the answer about a suspect;
	// Grace is how long that may last.
	Silence, Grace time.Duration
	Conditions     []v1.NodeCondition // ConditionsWritten

	// Zone, FromState, State, Rate and Counts belong to ZoneChanged and NodeQueued; Zone also to NodeDequeued and
	// DomainGateChanged.
	Zone      zone.Key
	FromState zone.State
	State     zone.State
	Rate      float64
	Counts    zone.Counts

	// Added and Removed are the taints written.
	Added, Removed []v1.Taint

	// Taint is the taint that decides the eviction. Toleration is the index in the pod's spec.tolerations of the one that
	// matches it (-1: none), Tolerated how long that toleration lasts, and Deadline when it ends.
	Taint      *v1.Taint
	Toleration int
	Tolerated  time.Duration
	Deadline   time.Time

	// Reason is a short stable text.
	//
	// Why a node no longer waits, or a pod is not evicted: NodeReady (by its verdict, or by a report since the pass);
	// NotFailed (the node has lost its Ready condition); Tainted (the node already has our taint, perhaps from another
	// replica); AllZonesDown; ZonePolicy (zone.Cancel); TaintRemoved; Tolerated; Completed; MirrorPod; DaemonSet; or the
	// reason of a hold.
	//
	// What an eviction waits for: NotSettled (the evictor has not yet watched the node for a whole grace period, or the
	// node has reported Ready since the pass), MayHarm, MayWrite, ZonePolicy (zone.Wait), MayEvict, Together (a pod that
	// must leave with it may not leave), DisruptionBudget, TooManyRequests.
	//
	// Without taints, PodEvictionTimeout is why a pod was evicted, and NoPods means that the node had none. For the other
	// kinds, Reason is text for people.
	Reason string
	// Err is what failed (WriteFailed, SuspectUnanswered), or why a permission is closed (GateChanged, DomainGateChanged,
	// EvictionDelayed). For MayEvict it is that function's own error, for Together it names the pod.
	Err error
	// DryRun marks the decisions of a dry run: nothing was written.
	DryRun bool

	// Explain returns a delay or a failure that was decided several times in a row as one decision. Times says how often, and
	// is 0 if it was only once. Otherwise Time is the first time and Last the last; the other fields are as of the last
	// time.
	Times int
	Last  time.Time
}

// Observer receives every decision, in order. The evictor calls it without any lock held. It must not block; it may
// feed the evictor.
type Observer interface {
	Observe(Decision)
}

// ObserverFunc adapts a function to Observer.
type ObserverFunc func(Decision)

// Observe calls f.
func (f ObserverFunc) Observe(d Decision) { f(d) }

// String describes the decision in one line that begins with the time of day in UTC.
func (d Decision) String() string {
	dry, times := "", ""
	if d.DryRun {
		dry = "(dry run) "
	}
	if d.Times > 1 {
		times = fmt.Sprintf(" (%d times, last at %s)", d.Times, d.Last.UTC().Format("15:04:05"))
	}
	return fmt.Sprintf("%s %s%s: %s%s", d.Time.UTC().Format("15:04:05"), dry, d.subject(), d.text(), times)
}

// subject names what the decision is about.
func (d Decision) subject() string {
	switch d.Kind {
	case ZoneChanged:
		return gate.Name(d.Zone)
	case AllZonesDown, AllZonesDownEnded, Awaiting:
		return "cluster"
	case GateChanged:
		return "permission"
	case DomainGateChanged:
		return "permission in " + gate.Name(d.Zone)
	case BoundsUnmatched:
		return "budget"
	}
	if d.Pod.Name != "" {
		return "pod " + d.Pod.PodKey.String()
	}
	return "node " + d.Node
}

// texts are what decisions say before their reason, if that is all they say.
var texts = map[Kind]string{
	AllZonesDown:      "every zone is fully disrupted: no taints and evictions of ours until that ends",
	AllZonesDownEnded: "some zone is no longer fully disrupted: heartbeat clocks restart",
	NodeDequeued:      "no longer waits: ",
	LabelsWritten:     "os and arch labels written",
	EvictionCancelled: "eviction cancelled: ",
	EvictionDelayed:   "eviction held back: ",
	PodSpared:         "spared: ",
	NodeRegistered:    "seen for the first time",
	NodeRemoved:       "gone: ",
	Awaiting:          "no decisions yet, waiting for ",
	BoundsUnmatched:   "these bounds apply to no node: ",
}

func (d Decision) text() string {
	switch d.Kind {
	case NodeVerdict:
		if d.Silence > 0 {
			return fmt.Sprintf("no heartbeat seen for %s (grace %s), Ready %s → %s", d.Silence, d.Grace, status(d.From), status(d.To))
		}
		return fmt.Sprintf("Ready %s → %s", status(d.From), status(d.To))
	case SuspectAlive:
		return fmt.Sprintf("alive, though no heartbeat was seen for %s", d.Silence)
	case SuspectUnanswered:
		return fmt.Sprintf("no heartbeat seen for %s (grace %s), the verdict waits, because nobody can say whether it is alive: %v", d.Silence, d.Grace, d.Err)
	case MarkingWaits:
		return "its pods stay Ready for now: " + gate.Name(d.Zone) + " marks the pods of only so many nodes at once"
	case ConditionsWritten:
		names := make([]string, len(d.Conditions))
		for i, c := range d.Conditions {
			names[i] = fmt.Sprintf("%s=%s", c.Type, c.Status)
		}
		return "conditions set: " + strings.Join(names, ", ")
	case NodeQueued:
		return fmt.Sprintf("%s: %s, %d of %d not ready, rate %g/s; waits for its turn", gate.Name(d.Zone), d.State, d.Counts.Bad, d.Counts.Total, d.Rate)
	case TaintsWritten:
		var parts []string
		for i := range d.Added {
			parts = append(parts, "taint "+d.Added[i].ToString()+" added")
		}
		for i := range d.Removed {
			parts = append(parts, "taint "+d.Removed[i].ToString()+" removed")
		}
		return strings.Join(parts, ", ")
	case PodMarkedNotReady:
		return fmt.Sprintf("marked not Ready, node %s is unreachable", d.Node)
	case EvictionArmed, EvictionMoved:
		return fmt.Sprintf("%s, due %s", d.why(), d.Deadline.UTC().Format("15:04:05"))
	case PodEvicted:
		return fmt.Sprintf("evicted from node %s: %s", d.Node, strings.Replace(d.why(), "tolerates", "tolerated", 1))
	case NodeEmptied:
		if d.Reason == reasonNoPods {
			return "it has no pods to delete"
		}
		return "its pods were deleted"
	case WriteFailed:
		return fmt.Sprintf("%s failed, will be retried: %v", d.Reason, d.Err)
	case ZoneChanged:
		return fmt.Sprintf("%s → %s, %d of %d not ready, rate %g/s", d.FromState, d.State, d.Counts.Bad, d.Counts.Total, d.Rate)
	case Awaiting:
		if d.Reason == "" {
			return "nothing is missing any more: decisions begin"
		}
	case TurnRefused:
		return fmt.Sprintf("its turn is refused: %v", d.Err)
	case BoundsUnmatched:
		if d.Reason == "" {
			return "each bound applies to some node now"
		}
	}
	return texts[d.Kind] + d.reason()
}

// reason is Reason, followed by Err.
func (d Decision) reason() string {
	if d.Err == nil {
		return d.Reason
	}
	return d.Reason + ": " + d.Err.Error()
}

// why describes what leads to the eviction.
func (d Decision) why() string {
	if d.With.Name != "" {
		with := d.With.PodKey
		d.With = PodRef{}
		return fmt.Sprintf("goes with pod %s: %s", with, d.why())
	}
	switch {
	case d.Taint == nil:
		return d.Reason
	case d.Toleration < 0:
		return fmt.Sprintf("does not tolerate %s", d.Taint.ToString())
	default:
		return fmt.Sprintf("tolerates %s for %s (tolerations[%d])", d.Taint.ToString(), d.Tolerated, d.Toleration)
	}
}

func status(s v1.ConditionStatus) string { return cmp.Or(string(s), "missing") }

// subject is the node or pod that a decision is about.
type subject struct {
	node string
	pod  PodKey
}

// about says what a decision is about. A refusal by Options.MayEvict repeats none: another is reported only if its text
// differs.
func about(d *Decision) (who subject, mayRepeat bool) {
	return subject{d.Node, d.Pod.PodKey}, d.Kind == EvictionDelayed && d.Reason != pods.MayEvict.String() && d.Reason != pods.Together.String() || d.Kind == WriteFailed
}

// repeat merges a decision into the last one about the same pod or node, if it repeats that one.
func repeat(first, d Decision) (one Decision, same bool) {
	same = first.Kind == d.Kind && first.Reason == d.Reason
	d.Time, d.Times, d.Last = first.Time, max(first.Times, 1)+1, d.Time
	return d, same
}
