package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// maxConflicts is how often a node that has its turn may be read again after a conflict before it has to wait for another.
const maxConflicts = 5

// Note takes over what the node's object says. changed: what the next pass counts, or the program's hold. moved on: the store shows
// another version than the one that was too old to be written.
func (r *Record) Note(object *v1.Node, heartbeat, taintBased bool, hold string) (changed, movedOn bool) {
	if heartbeat {
		r.word = heard
	}
	if movedOn = r.conflict.version != "" && object.ResourceVersion != r.conflict.version; movedOn {
		r.conflict.version = ""
	}
	r.says = ReadyOf(object).Status
	if r.Tainted = taintBased && HasNoExecute(object); r.Tainted {
		r.unseen = time.Time{}
	}
	domain, excluded := zone.KeyOf(object.Labels), zone.Excluded(object.Labels)
	changed = domain != r.Zone || excluded != r.Excluded || hold != r.hold
	r.Zone, r.Excluded, r.hold = domain, excluded, hold
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
		r.stage, r.after, r.emptying = Calm, New, nil
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

// BecomeWatched lets a failed node wait for one more grace: the clocks started anew.
func (r *Record) BecomeWatched() {
	if r.stage > Watched {
		r.stage, r.after = Watched, r.stage
	}
}

// BecomeUnserved lets a node that was emptied be emptied again when it has another turn: every zone went down since.
func (r *Record) BecomeUnserved() {
	if !r.Emptied() {
		return
	}
	r.emptying.until = time.Time{}
	if r.stage == Watched {
		r.after = Waiting
	} else {
		r.stage = Waiting
	}
}

// Place is what becomes of a node's place in line.
type Place uint8

// The places.
const (
	Stay  Place = iota // as it is
	Leave              // it is not to be harmed: Facts.Why
	Enter              // it waits, if it does not and has no turn
)

// Consider decides what the verdict asks for now. latest is the verdict with its times as they are by now, settled says that the node has been watched for
// a whole grace since the clocks started, and shown that the store shows it. again: time alone changes the answer.
func (r *Record) Consider(w World, latest health.Verdict, settled, shown bool) (place Place, again bool) {
	if r.stage == Watched && !w.AllDown {
		if again = !settled; settled {
			r.stage, r.after = r.after, New
		}
	}
	if r.verdict.Expired && r.word == agreed && r.says != v1.ConditionUnknown {
		r.word = unwritten
	}
	f := r.Facts(w)
	switch {
	case !f.Standing().MayBeHarmed():
		return Leave, again
	case w.TaintBased && !shown:
		return Stay, again
	case !w.TaintBased && w.Now.Before(w.emptyAt(latest)):
		return Stay, true
	case w.Turn || r.Emptied():
		return Stay, again
	}
	return Enter, again
}

// WaitsUntil is when time alone changes what there is to do, Now where that is unknown. settles is when the node has been watched for
// a whole grace, zero where it must be silent for that.
func (r *Record) WaitsUntil(w World, latest health.Verdict, settles time.Time) time.Time {
	f := r.Facts(w)
	switch {
	case r.stage == Watched && !settles.IsZero():
		return settles
	case r.stage == Watched:
		return latest.LastBeat.Add(latest.Grace)
	case w.Now.Before(r.unseen):
		return r.unseen
	case !w.TaintBased && f.Failing():
		w.Passes = false
		return w.emptyAt(latest)
	}
	return w.Now
}

// emptyAt is when the pods of a failed node are deleted where nothing is tainted.
func (r *Rules) emptyAt(v health.Verdict) time.Time {
	from, wait := v.Since, r.Timeout
	if v.Ready == v1.ConditionUnknown {
		from = v.LastBeat
	}
	if r.Passes {
		wait++
	}
	return from.Add(wait)
}

// Told is told of conditions that were written.
func (r *Record) Told() {
	if r.word == unwritten {
		r.word = agreed
	}
}

// Wrote is told how a write of the node ended, and of which version it was. It returns how many were too old in a row.
func (r *Record) Wrote(conflicted bool, version string) (conflicts int) {
	if !conflicted {
		r.conflict = conflict{}
	} else {
		r.conflict = conflict{r.conflict.times + 1, version}
	}
	return r.conflict.times
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
	done := tainted
	if !w.TaintBased {
		done = r.Emptied()
	}
	if !done && 0 < r.conflict.times && r.conflict.times <= maxConflicts {
		return Kept
	}
	r.conflict.times = 0
	f := r.Facts(w)
	switch {
	case done && w.TaintBased:
		r.unseen = w.Now.Add(w.Unseen)
		return Done
	case done: // whatever failed after it
		return Done
	case !failed && !f.Standing().Wanted():
		return Dropped
	}
	return Spent
}
