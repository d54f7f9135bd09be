package node

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
)

// Standing says whether a node may be harmed and, if not, why. If several reasons apply, it is the first of them.
type Standing uint8

// The standings. Only in the last may a node be harmed; from Reported on, its verdict asks for harm.
const (
	Unjudged    Standing = iota // there is no verdict yet: taints on it stay
	Ready                       // by its verdict
	AllDown                     // every zone is fully disrupted: the fault is likely elsewhere
	Cancelled                   // the zone policy cancels pending evictions in its domain
	Held                        // by the program or an operator
	Announced                   // its conditions announce maintenance
	NoCondition                 // it has lost its Ready condition, so nothing is known of it: taints on it stay
	Settling                    // it failed before the clocks started or restarted, and has one more grace period: it keeps our taint
	Reported                    // its kubelet has reported Ready since the verdict: the next verdict decides
	Tainted                     // it already carries our taint, and has no turn
	Harmable                    // it may be harmed
)

var standings = [...]string{"NotFailed", "NodeReady", "AllZonesDown", "ZonePolicy", "Held", "Announced", "NotFailed", "NotSettled", "NodeReady", "Tainted", ""}

// String returns the reason as observers see it, empty for Harmable. For Held and Announced, Facts.Why has the actual one.
func (s Standing) String() string { return standings[s] }

// MayBeHarmed says whether it is Harmable.
func (s Standing) MayBeHarmed() bool { return s == Harmable }

// Wanted says whether the verdict asks for harm. Evictions and taints then stand, although no new harm may be done to a
// node that has just reported Ready.
func (s Standing) Wanted() bool { return s >= Reported }

// Facts are what the standing of a node follows from. They are built once for each event.
type Facts struct {
	World // with the Hold that counts
	// Judged says that there is a verdict. Ready is its readiness; Expired says that the node was silent for too long.
	Judged  bool
	Ready   v1.ConditionStatus
	Expired bool
	// Says is the Ready condition of the node's object; Beat says that a heartbeat was seen since the verdict.
	Says v1.ConditionStatus
	Beat bool

	Announced string // the condition that announces maintenance, empty for none
	Excluded  bool   // it does not count in its domain: the program says so, or its maintenance is announced
	Settling  bool   // it must be watched for one more grace period
	Carries   bool   // it has our NoExecute taint, or will once the store shows it
}

// Standing is the only place that decides it.
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
	case f.Announced != "":
		return Announced
	case !f.Failing():
		return NoCondition
	case f.Settling:
		return Settling
	case f.reported():
		return Reported
	case f.Carries && !f.Turn:
		return Tainted
	}
	return Harmable
}

// Why returns, as observers see it, the reason why the node is not harmed; empty if it may be.
func (f Facts) Why() string {
	switch s := f.Standing(); s {
	case Held:
		return f.Hold
	case Announced:
		return f.Announced
	default:
		return s.String()
	}
}

// Held returns why it is held, or which condition announces its maintenance; empty for neither.
func (f Facts) Held() string { return cmp.Or(f.Hold, f.Announced) }

// Failing says whether the verdict is one that leads to harm unless something prevents it.
func (f Facts) Failing() bool {
	return f.Judged && (f.Ready == v1.ConditionFalse || f.Ready == v1.ConditionUnknown)
}

// reported says whether the kubelet has reported Ready since the verdict. It does not count if the object still says Ready
// only because our Unknown is not written yet.
func (f Facts) reported() bool {
	return f.Says == v1.ConditionTrue && (!f.Expired || f.Beat)
}

// Silent says whether the node's pods are to be marked not Ready, now or later. A kubelet that runs would undo that.
func (f Facts) Silent() bool { return f.Ready == v1.ConditionUnknown && !f.Beat }

// Marks says whether the node's pods are to be marked now. Marking is no harm, so neither a hold nor the zone policy's word on
// pending evictions prevents it.
func (f Facts) Marks() bool { return f.Silent() && !f.NoMarks && f.unheld().Wanted() }

func (f Facts) unheld() Standing {
	f.Hold, f.Announced, f.Cancelled = "", "", false
	return f.Standing()
}

// Taints says whether a planned NoExecute taint may still be written; tainted says whether the node has one.
func (f Facts) Taints(tainted bool) bool {
	taint, _ := f.execute(tainted)
	return taint.Key != "" && !f.reported()
}
