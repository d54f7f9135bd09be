package node

import v1 "k8s.io/api/core/v1"

// Standing is whether a node may be harmed, and if not, why. Of several reasons it is the first.
type Standing uint8

// The standings. Nodes may be harmed in the last alone; from Reported on their verdict asks for it.
const (
	Unjudged    Standing = iota // no verdict has fallen: what it carries stays
	Ready                       // by its verdict
	AllDown                     // every zone is fully disrupted: the fault is likely elsewhere
	Cancelled                   // the zone policy has what is pending in its domain given up
	Held                        // by the program or its operator
	NoCondition                 // it has lost its Ready condition, nothing is known of it: what it carries stays
	Settling                    // it failed before the clocks started anew, and has one more grace: it keeps the taint that it has
	Reported                    // its kubelet has reported Ready since the verdict: the next one decides
	Tainted                     // it carries the taint already, and not because of the turn that it has
	Failed                      // it may be harmed
)

var standings = [...]string{"NotFailed", "NodeReady", "AllZonesDown", "ZonePolicy", "Held", "NotFailed", "NotSettled", "NodeReady", "Tainted", ""}

// String is the reason that observers are told, empty for Failed; of a hold Facts.Why knows more.
func (s Standing) String() string { return standings[s] }

// MayBeHarmed says whether it is Failed.
func (s Standing) MayBeHarmed() bool { return s == Failed }

// Wanted says whether the verdict asks for harm: what was begun goes on, though no new harm may be done to a node that has just
// reported.
func (s Standing) Wanted() bool { return s >= Reported }

// Facts are what the standing of a node follows from.
type Facts struct {
	// Judged: a verdict has fallen. Ready is what it says, and Expired that the node was silent for too long.
	Judged  bool
	Ready   v1.ConditionStatus
	Expired bool
	// Says is what the node's object says now, and Beat that a sign of life was seen since the verdict.
	Says v1.ConditionStatus
	Beat bool

	AllDown   bool   // every zone is fully disrupted
	Cancelled bool   // the zone policy has what is pending in its domain given up
	Hold      string // why the node is held, empty when it is not
	Settling  bool   // it has to be watched for one more grace period
	Carries   bool   // it has our NoExecute taint, or will once the store shows it
	Turn      bool   // it has its turn to be harmed
}

// Standing is worked out here and nowhere else.
func (f Facts) Standing() Standing {
	switch {
	case !f.Judged:
		return Unjudged
	case f.Ready == v1.ConditionTrue:
		return Ready
	case f.AllDown:
		return AllDown
	case f.Cancelled:
		return Cancelled
	case f.Hold != "":
		return Held
	case !f.Failing():
		return NoCondition
	case f.Settling:
		return Settling
	case f.reported():
		return Reported
	case f.Carries && !f.Turn:
		return Tainted
	}
	return Failed
}

// Why is the reason that observers are told why the node is not harmed.
func (f Facts) Why() string {
	if s := f.Standing(); s != Held {
		return s.String()
	}
	return f.Hold
}

// Failing says whether the verdict is one that harms, if nothing else speaks against it.
func (f Facts) Failing() bool {
	return f.Judged && (f.Ready == v1.ConditionFalse || f.Ready == v1.ConditionUnknown)
}

// reported says whether the kubelet has reported Ready since the verdict. An object that still says Ready because our own Unknown
// is not written yet does not count.
func (f Facts) reported() bool {
	return f.Says == v1.ConditionTrue && (!f.Expired || f.Beat)
}

// Silent says whether the node's pods are to be marked not Ready, sooner or later: its kubelet, which would fight that, does not run.
func (f Facts) Silent() bool { return f.Ready == v1.ConditionUnknown && !f.Beat }

// Marks says whether they are to be marked now, which is no harm and no matter of a hold or of what is pending.
func (f Facts) Marks() bool { return f.Silent() && f.unheld().Wanted() }

func (f Facts) unheld() Standing {
	f.Hold, f.Cancelled = "", false
	return f.Standing()
}

// Taints says whether a NoExecute taint that was planned may be written still; tainted is whether the node has one by now.
func (f Facts) Taints(tainted bool) bool {
	taint, _ := f.execute(tainted)
	return taint.Key != "" && !f.reported()
}
