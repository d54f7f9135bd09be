package node

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/health"
)

// maxConflicts is how often a node that has its turn may be read again after a conflict before it has to wait for another.
const maxConflicts = 5

// Note takes over what the node's object says. changed: what the next pass counts. movedOn: the store shows another version than
// the one that was too old to be written.
func (r *Record) Note(object *v1.Node, belongs Belongs, heartbeat, taintBased bool) (changed, movedOn bool) {
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
	changed = belongs != r.Belongs
	r.Belongs = belongs
	return changed, movedOn
}

// Judge takes over a new verdict. It returns what was thought of the node before, of a new one what its object says, and whether
// it was not silent then and is now.
func (r *Record) Judge(v health.Verdict) (from v1.ConditionStatus, silent bool) {
	from, silent = r.verdict.Ready, v.Expired && !r.verdict.Expired
	if r.stage == New {
		from = v.Observed
	}
	r.verdict, r.word = v, agreed
	if v.Expired {
		r.word = unwritten
	}
	if v.Ready == v1.ConditionTrue {
		r.stage, r.after, r.pods, r.until = Calm, New, nil, time.Time{}
	} else if r.stage < Watched {
		r.stage = Waiting
	}
	if v.Ready != v1.ConditionUnknown {
		r.Marks = Marks{}
	} else {
		r.Marks.Due = true
	}
	return from, silent
}

// BecomeWatched lets a node that failed wait for one more grace, which it says of it: the clocks started anew.
func (r *Record) BecomeWatched() (failed bool) {
	if r.stage > Watched {
		r.stage, r.after = Watched, r.stage
	}
	return r.stage == Watched
}

// BecomeUnserved lets a node that was emptied be emptied again when it has another turn: every zone went down since, or the zone policy
// cancelled. It says whether the node failed.
func (r *Record) BecomeUnserved() (failed bool) {
	r.stage, r.after, r.until = min(r.stage, Waiting), min(r.after, Waiting), time.Time{}
	return r.stage >= Watched
}

// BecomeServed is told that of the pods of a failed node none is left but those whose eviction was refused. It says whether that is
// new in this outage, and whether there was none.
func (r *Record) BecomeServed() (first, nobody bool) {
	first, r.stage, r.until = r.stage != Served, Served, time.Time{}
	for _, pod := range r.pods {
		if !pod.Settled && (r.until.IsZero() || pod.Until.Before(r.until)) {
			r.until = pod.Until
		}
	}
	return first, r.pods == nil
}

// Gone is told that none of the node's pods is to be evicted now: those that could be are not there any more.
func (r *Record) Gone(now time.Time) {
	for uid, pod := range r.pods {
		if !pod.Settled && !now.Before(pod.Until) {
			delete(r.pods, uid)
		}
	}
}

// Pod is how far a pod of the node is, where nothing is tainted.
func (r *Record) Pod(uid types.UID) Leaving { return r.pods[uid] }

// Leaves notes it, unless the node has recovered meanwhile.
func (r *Record) Leaves(uid types.UID, pod Leaving) {
	if r.stage < Watched {
		return
	}
	if r.pods == nil {
		r.pods = make(map[types.UID]Leaving)
	}
	r.pods[uid] = pod
}

// MarkNow is told of a pod that should be marked, and says whether that makes the marking due anew.
func (m *Marks) MarkNow(pod types.UID) bool {
	_, done := m.Done[pod]
	anew := !done && !m.Due
	m.Due = m.Due || anew
	return anew
}

// Marked is told that a pod was, unless that is not wanted any more.
func (m *Marks) Marked(pod types.UID) {
	if m.Due && m.Done == nil {
		m.Done = make(map[types.UID]struct{})
	}
	if m.Due {
		m.Done[pod] = struct{}{}
	}
}

// Consider decides whether the node is to wait for its turn: not while it is not to be harmed, which Facts say, nor twice. latest is
// the verdict with its times as they are by now, settled says that the node has been watched for a whole grace since the clocks
// started, and shown that the store shows it. again: time alone changes the answer.
func (r *Record) Consider(w World, latest health.Verdict, settled, shown bool) (waits, again bool) {
	if r.stage == Watched && !w.AllDown {
		if again = !settled; settled {
			r.stage, r.after = r.after, New
		}
	}
	if r.verdict.Expired && r.word == agreed && r.says != v1.ConditionUnknown {
		r.word = unwritten
	}
	harmed := r.Facts(w).Standing().MayBeHarmed()
	early := harmed && !w.TaintBased && w.Now.Before(w.emptyAt(latest))
	return harmed && !early && !w.Turn && !r.Emptied() && (shown || !w.TaintBased), again || early
}

// WaitsUntil is when time alone changes what there is to do, Now where that is unknown. settles is when the node has been watched for
// a whole grace, zero where it must be silent for that.
func (r *Record) WaitsUntil(w World, latest health.Verdict, settles time.Time) time.Time {
	switch {
	case r.stage == Watched && !settles.IsZero():
		return settles
	case r.stage == Watched:
		return latest.LastBeat.Add(latest.Grace)
	case w.Now.Before(r.unseen):
		return r.unseen
	case !w.TaintBased && r.Facts(w).Failing():
		return w.emptyAt(latest)
	}
	return w.Now
}

// emptyAt is when the pods of a failed node are deleted where nothing is tainted.
func (w *World) emptyAt(v health.Verdict) time.Time {
	at := v.Since.Add(w.Timeout)
	if v.Ready == v1.ConditionUnknown {
		at = v.LastBeat.Add(w.Timeout)
	}
	if at.Before(w.Watched) {
		at = w.Watched
	}
	if w.Passes {
		return at.Add(1)
	}
	return at
}

// Unwritten says whether the node is silent, and that is still to be written to its status.
func (r *Record) Unwritten() bool { return r.word == unwritten }

// Told is told of conditions that were written.
func (r *Record) Told() {
	if r.word == unwritten {
		r.word = agreed
	}
}

// Wrote is told how a write of the node ended, and of which version it was. It returns how many were too old in a row.
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
	Kept    Ending = iota // not yet: the node is read again
	Done                  // the node is tainted or emptied
	Dropped               // there was nothing to do any more
	Spent                 // for nothing: the node waits for another
)

// EndTurn is told how the write on the node's turn ended: whether the node has our taint by now, and whether something failed. Every
// try that fails costs the turn, so that an outage of the API saves none up.
func (r *Record) EndTurn(w World, tainted, failed bool) Ending {
	done := tainted || r.Emptied()
	if !done && 0 < r.conflicts && r.conflicts <= maxConflicts {
		return Kept
	}
	r.conflicts = 0
	switch {
	case done: // whatever failed after it
		if tainted {
			r.unseen = w.Now.Add(w.Unseen)
		}
		return Done
	case !failed && !r.Facts(w).Standing().Wanted():
		return Dropped
	}
	return Spent
}
