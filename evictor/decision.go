package evictor

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/zone"
)

// Kind says what was decided. The zero Kind is no decision.
type Kind uint8

// The kinds of decisions. Those marked (written) are reported after the write succeeded, the
// others when they were taken.
const (
	// NodeVerdict: the observed readiness of a node changed.
	NodeVerdict Kind = iota + 1
	// ConditionsWritten: conditions of a silent node were set to Unknown (written).
	ConditionsWritten
	// ZoneChanged: a zone changed state or rate.
	ZoneChanged
	// AllZonesDown: every zone with a counted node is fully disrupted.
	AllZonesDown
	// AllZonesDownEnded: one of them is no longer.
	AllZonesDownEnded
	// NodeQueued: a failed node waits for its zone's rate.
	NodeQueued
	// NodeDequeued: a waiting node does not have to be acted on any more.
	NodeDequeued
	// TaintsWritten: taints of a node were changed (written).
	TaintsWritten
	// LabelsWritten: the deprecated os and arch labels were brought in line (written).
	LabelsWritten
	// PodMarkedNotReady: a pod of an unreachable node had its Ready condition set to False (written).
	PodMarkedNotReady
	// EvictionArmed: a pod will be evicted at Deadline. Of a node that is emptied, without taints, this is not told, nor are the
	// next two.
	EvictionArmed
	// EvictionMoved: that time changed.
	EvictionMoved
	// EvictionCancelled: the pod will not be evicted; Reason says why.
	EvictionCancelled
	// EvictionDelayed: it is due but held back; Reason says by what. It is told again when that
	// changes, and at each answer of the API server that refuses it (DisruptionBudget, TooManyRequests).
	EvictionDelayed
	// PodEvicted: the pod was evicted (written).
	PodEvicted
	// PodSpared: a pod on a failed node is left alone; Reason says why.
	PodSpared
	// WriteFailed: a write did not succeed and will be tried again; Err says why.
	WriteFailed
	// GateChanged: new taints and evictions are held back, Err says why, or go on again (Err is nil).
	GateChanged
	// NodeRegistered: a node was seen for the first time.
	NodeRegistered
	// NodeRemoved: a node is gone, or another took its name.
	NodeRemoved
	// NodeEmptied: the pods of a failed node were deleted, without taints (written).
	NodeEmptied
	// Awaiting: nothing is decided yet; Reason says what is waited for. An empty one: that has come.
	Awaiting
	// DomainGateChanged is GateChanged for the failure domain Zone alone; Reason says of what. Where Err is not nil it says by
	// what: a pause, Options.MayHarmIn or the zone policy.
	DomainGateChanged
)

const (
	reasonTimeout = "PodEvictionTimeout"
	reasonNoPods  = "NoPods"
)

var kindNames = [...]string{
	"", "NodeVerdict", "ConditionsWritten", "ZoneChanged", "AllZonesDown", "AllZonesDownEnded", "NodeQueued", "NodeDequeued",
	"TaintsWritten", "LabelsWritten", "PodMarkedNotReady", "EvictionArmed", "EvictionMoved", "EvictionCancelled", "EvictionDelayed", "PodEvicted",
	"PodSpared", "WriteFailed", "GateChanged", "NodeRegistered", "NodeRemoved", "NodeEmptied", "Awaiting", "DomainGateChanged",
}

// String is the name of the constant.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

// Decision is one thing the evictor decided, with what it was decided from. Which fields are set
// depends on Kind. It is a value: keep it as long as you like.
type Decision struct {
	Time time.Time
	Kind Kind
	Node string
	// NodeUID is set where an event about the node may follow.
	NodeUID types.UID
	Pod     PodRef

	// From and To are the readiness before and after (NodeVerdict); empty means no Ready condition.
	From, To v1.ConditionStatus
	// Silence is how long no heartbeat had been seen when the verdict fell, Grace what is allowed.
	Silence, Grace time.Duration
	Conditions     []v1.NodeCondition // ConditionsWritten

	// Zone and what follows belong to ZoneChanged and NodeQueued; Zone to DomainGateChanged too.
	Zone      zone.Key
	FromState zone.State
	State     zone.State
	Rate      float64
	Counts    zone.Counts

	// Added and Removed are the taints written.
	Added, Removed []v1.Taint

	// Taint is the one that decides an eviction, Toleration the index in the pod's spec.tolerations of the one used for
	// it (from 0; -1: none), Tolerated how long it allows, Deadline when it ends.
	Taint      *v1.Taint
	Toleration int
	Tolerated  time.Duration
	Deadline   time.Time

	// Reason is a short stable text. Why nobody waits or is evicted any more: NodeReady, NotFailed (it has reported
	// Ready since the pass, is held, or has no Ready condition any more), Tainted (the node has our taint already, by
	// another replica, say), NodeDeleted, AllZonesDown, ZonePolicy (zone.Cancel), TaintRemoved,
	// Tolerated, Completed, MirrorPod, DaemonSet, or the reason of a hold. What is waited for: NotSettled (we have not
	// watched the node for a whole grace period yet, or it has reported Ready since the pass), MayHarm, MayWrite, ZonePolicy (zone.Wait),
	// DisruptionBudget, TooManyRequests. Without taints, PodEvictionTimeout is why a pod is evicted, and NoPods tells of
	// a node that had none. With other kinds it is for people.
	Reason string
	// Err is what failed (WriteFailed), or why a permission is closed (GateChanged, DomainGateChanged, EvictionDelayed).
	Err error
	// DryRun marks what would have been written.
	DryRun bool

	// In what Explain returns, a delay or a failure that repeats is one decision: Times is how often it was decided in a
	// row, when more than once, Time and Last are when first and last. The rest is as it was the last time.
	Times int
	Last  time.Time
}

// Observer is told every decision, in order. It is called without any lock held and must not block;
// it may feed the evictor.
type Observer interface {
	Observe(Decision)
}

// ObserverFunc adapts a function to Observer.
type ObserverFunc func(Decision)

// Observe calls f.
func (f ObserverFunc) Observe(d Decision) { f(d) }

// String tells the decision in one line, beginning with the time of day.
func (d Decision) String() string {
	var b strings.Builder
	b.WriteString(d.Time.UTC().Format("15:04:05"))
	b.WriteByte(' ')
	if d.DryRun {
		b.WriteString("(dry run) ")
	}
	switch d.Kind {
	case ZoneChanged:
		fmt.Fprintf(&b, "%s: %s → %s, %d of %d not ready, rate %s/s", permit.Name(d.Zone), d.FromState, d.State, d.Counts.Bad, d.Counts.Total, number(d.Rate))
	case AllZonesDown:
		b.WriteString("cluster: every zone is fully disrupted, nothing is evicted for it")
	case AllZonesDownEnded:
		b.WriteString("cluster: no longer every zone is fully disrupted, heartbeat clocks start anew")
	case GateChanged:
		b.WriteString("permission: " + d.reason())
	case DomainGateChanged:
		b.WriteString("permission in " + permit.Name(d.Zone) + ": " + d.reason())
	case Awaiting:
		if d.Reason == "" {
			b.WriteString("cluster: all is there, decisions begin")
		} else {
			b.WriteString("cluster: nothing is decided, it waits for " + d.Reason)
		}
	default:
		if d.Pod.Name != "" {
			fmt.Fprintf(&b, "pod %s: ", d.Pod.PodKey)
		} else {
			fmt.Fprintf(&b, "node %s: ", d.Node)
		}
		b.WriteString(d.text())
	}
	if d.Times > 1 {
		fmt.Fprintf(&b, " (%d times, last at %s)", d.Times, d.Last.UTC().Format("15:04:05"))
	}
	return b.String()
}

func (d Decision) text() string {
	switch d.Kind {
	case NodeVerdict:
		if d.Silence > 0 {
			return fmt.Sprintf("no heartbeat seen for %s (grace %s), Ready %s → %s", d.Silence, d.Grace, status(d.From), status(d.To))
		}
		return fmt.Sprintf("Ready %s → %s", status(d.From), status(d.To))
	case ConditionsWritten:
		names := make([]string, len(d.Conditions))
		for i, c := range d.Conditions {
			names[i] = fmt.Sprintf("%s=%s", c.Type, c.Status)
		}
		return "conditions set: " + strings.Join(names, ", ")
	case NodeQueued:
		return fmt.Sprintf("%s: %s, %d of %d not ready, rate %s/s; waits for its turn", permit.Name(d.Zone), d.State, d.Counts.Bad, d.Counts.Total, number(d.Rate))
	case NodeDequeued:
		return "no longer waits: " + d.Reason
	case TaintsWritten:
		var parts []string
		for i := range d.Added {
			parts = append(parts, "taint "+d.Added[i].ToString()+" added")
		}
		for i := range d.Removed {
			parts = append(parts, "taint "+d.Removed[i].ToString()+" removed")
		}
		return strings.Join(parts, ", ")
	case LabelsWritten:
		return "os and arch labels written"
	case PodMarkedNotReady:
		return fmt.Sprintf("marked not Ready, node %s is unreachable", d.Node)
	case EvictionArmed, EvictionMoved:
		return fmt.Sprintf("%s, due %s", d.why(), d.Deadline.UTC().Format("15:04:05"))
	case EvictionCancelled:
		return "eviction cancelled: " + d.Reason
	case EvictionDelayed:
		return "eviction held back: " + d.reason()
	case PodEvicted:
		return fmt.Sprintf("evicted from node %s: %s", d.Node, strings.Replace(d.why(), "tolerates", "tolerated", 1))
	case PodSpared:
		return "spared: " + d.Reason
	case NodeRegistered:
		return "seen for the first time"
	case NodeRemoved:
		return "gone: " + d.Reason
	case NodeEmptied:
		if d.Reason == reasonNoPods {
			return "it has no pods to delete"
		}
		return "its pods were deleted"
	case WriteFailed:
		return fmt.Sprintf("%s failed, will be tried again: %v", d.Reason, d.Err)
	}
	return d.Reason
}

// reason is Reason with what is behind it.
func (d Decision) reason() string {
	if d.Err == nil {
		return d.Reason
	}
	return d.Reason + ": " + d.Err.Error()
}

// why tells what an eviction follows from.
func (d Decision) why() string {
	switch {
	case d.Taint == nil:
		return d.Reason
	case d.Toleration < 0:
		return fmt.Sprintf("does not tolerate %s", d.Taint.ToString())
	default:
		return fmt.Sprintf("tolerates %s for %s (tolerations[%d])", d.Taint.ToString(), d.Tolerated, d.Toleration)
	}
}

func status(s v1.ConditionStatus) string {
	if s == "" {
		return "missing"
	}
	return string(s)
}

func number(rate float64) string { return fmt.Sprintf("%g", rate) }
