package node

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/health"
)

// maxConflicts is how often a write may meet a conflict before the node loses its turn.
const maxConflicts = 5

// Note records what the node's object says. changed means that the node's domain, or whether it counts, may have changed.
// movedOn means that the store shows another version than the one whose write met a conflict.
func (r *Record) Note(object *v1.Node, belongs Belongs, heartbeat, taintBased bool, now time.Time) (changed, movedOn bool) {
	was := r.announced
	r.announced = was.seen(object, now)
	if heartbeat && r.verdict.Ready == v1.ConditionUnknown {
		r.word = heard
	}
	if movedOn = r.tooOld != "" && object.ResourceVersion != r.tooOld; movedOn {
		r.tooOld = ""
	}
	r.says = ReadyOf(object).Status
	if r.Tainted = taintBased && HasNoExecute(object); r.Tainted {
		r.unseen = time.Time{}
	}
	changed = belongs != r.Belongs || r.announced.since != was.since
	r.Belongs = belongs
	return changed, movedOn
}

// Judge records a new verdict. It returns the readiness before (for a new node, what its object says), and whether the
// node is silent now and was not before.
func (r *Record) Judge(v health.Verdict) (from v1.ConditionStatus, silent bool) {
	from, silent = r.verdict.Ready, v.Expired && !r.verdict.Expired
	if r.Stage() == New {
		from = v.Observed
	}
	r.verdict, r.word = v, agreed
	if v.Expired {
		r.word = unwritten
	}
	if v.Ready == v1.ConditionTrue {
		r.early, r.left, r.begun = false, untouched, false
	}
	if v.Ready != v1.ConditionUnknown {
		r.Marks = Marks{}
	} else {
		r.Marks.Due = true
	}
	return from, silent
}

// BecomeEarly is called when the clocks restart: a failed node waits for one more grace period. It says whether the node
// has failed.
func (r *Record) BecomeEarly() (failed bool) {
	r.EndEmptying()
	r.early = r.failed()
	return r.early
}

// BecomeUnserved makes an emptied node wait for another turn, to be emptied again: every zone has gone down, or the zone
// policy cancels. It says whether the node has failed.
func (r *Record) BecomeUnserved() (failed bool) {
	r.left, r.begun = untouched, false
	return r.failed()
}

// BecomeEmptying is called when the node has its turn and its pods are to leave.
func (r *Record) BecomeEmptying() {
	if r.Stage() == Failed {
		r.left = leaving
	}
}

// EndEmptying is called when some of its pods could not be evicted: the node waits for another turn.
func (r *Record) EndEmptying() {
	if r.left == leaving {
		r.left = untouched
	}
}

// PodLeft is called when a pod was evicted to empty the node.
func (r *Record) PodLeft() { r.begun = r.failed() }

// BecomeServed is called when a failed node is emptied. It says whether that is the first time in this outage.
func (r *Record) BecomeServed() (first bool) {
	first, r.left = r.left != gone, gone
	return first
}

// MarkNow is called for a pod that should be marked. It says whether marking thereby becomes due again.
func (m *Marks) MarkNow(pod types.UID) bool {
	_, done := m.Done[pod]
	anew := !done && !m.Due
	m.Due = m.Due || anew
	return anew
}

// Marked records that a pod was marked, if marking is still due.
func (m *Marks) Marked(pod types.UID) {
	if m.Due && m.Done == nil {
		m.Done = make(map[types.UID]struct{})
	}
	if m.Due {
		m.Done[pod] = struct{}{}
	}
}

// Consider decides whether the node is to wait for its turn: only if it may be harmed, and has neither a turn nor been
// emptied. latest is the monitor's current verdict; settled says that the node has been watched for a whole grace period
// since the clocks restarted; shown says that the store shows the node. again means that time alone may change the answer.
func (r *Record) Consider(f Facts, latest health.Verdict, settled, shown bool) (waits, again bool) {
	if r.early && !f.AllDown {
		r.early, again = !settled, !settled
	}
	if r.verdict.Expired && r.word == agreed && r.says != v1.ConditionUnknown {
		r.word = unwritten
	}
	harmed := r.Facts(f.World).Standing().MayBeHarmed()
	early := harmed && !f.TaintBased && f.Now.Before(f.emptyAt(latest))
	again = again || early || r.Announced(f.World) != ""
	return harmed && !early && !f.Turn && !r.Emptied() && (shown || !f.TaintBased), again
}

// WaitsUntil returns when the node must be looked at again even if nothing happens, or Now if that is unknown. settles is when it will have been
// watched for a whole grace period, or zero if it must stay silent for that long.
func (r *Record) WaitsUntil(f Facts, latest health.Verdict, settles time.Time) time.Time {
	switch {
	case r.early && !settles.IsZero():
		return settles
	case r.early:
		return latest.LastBeat.Add(latest.Grace)
	case r.Announced(f.World) != "":
		return r.announced.since.Add(f.MaxAnnounced)
	case f.Now.Before(r.unseen):
		return r.unseen
	case !f.TaintBased && f.Failing():
		return f.emptyAt(latest)
	}
	return f.Now
}

// emptyAt is when a failed node may be emptied, without taints.
func (w *World) emptyAt(v health.Verdict) time.Time {
	at := v.Since.Add(w.Timeout)
	if v.Ready == v1.ConditionUnknown {
		at = v.LastBeat.Add(w.Timeout)
	}
	if w.Passes {
		return at.Add(1)
	}
	return at
}

// Unwritten says whether the node is silent and that is not yet written to its status.
func (r *Record) Unwritten() bool { return r.word == unwritten }

// Told records that its conditions were written.
func (r *Record) Told() {
	if r.word == unwritten {
		r.word = agreed
	}
}

// Wrote records whether a write met a conflict, and the version that it was made from. It returns the number of conflicts
// in a row.
func (r *Record) Wrote(conflicted bool, version string) (conflicts int) {
	if r.conflicts, r.tooOld = r.conflicts+1, version; !conflicted {
		r.conflicts, r.tooOld = 0, ""
	}
	return r.conflicts
}

// Ending is how a turn ends.
type Ending uint8

// The endings.
const (
	Kept    Ending = iota // it does not end yet: the node is read again after a conflict
	Done                  // the node is tainted or emptied
	Dropped               // there was nothing left to do
	Spent                 // nothing came of it: the node waits for another
)

// EndTurn decides how the node's turn ends after its write: tainted says that the node has our taint now, failed that
// something failed. Except for a conflict, each failed try costs the turn, so that an API outage saves no turns up.
func (r *Record) EndTurn(f Facts, tainted, failed bool) Ending {
	if !tainted && 0 < r.conflicts && r.conflicts <= maxConflicts {
		return Kept
	}
	r.conflicts = 0
	switch {
	case tainted: // even if something failed afterwards
		r.unseen = f.Now.Add(f.Unseen)
		return Done
	case !failed && !f.Standing().Wanted():
		return Dropped
	}
	return Spent
}
