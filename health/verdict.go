package health

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/steady"
)

// Verdict is what the monitor says about a node, as of the last Pass. Time that does not count moves its instants
// forward, so that LastBeat plus Grace is the deadline: LastBeat by the MaxGap of its own Grace, all else by that of
// NodeMonitorGracePeriod.
type Verdict struct {
	Node string
	UID  types.UID
	// Observed is the Ready status in the node's object; empty, without one, counts as not ready. Ready is the monitor's:
	// Unknown if the node has been silent for too long, else the same as Observed.
	Observed, Ready v1.ConditionStatus
	// Expired: a Pass saw no sign of life for a whole grace period. It ends at the next sign of life at once, and not
	// because the Ready condition vanishes.
	Expired bool
	// Since is from when on Ready is what it is: the Pass that found it changed. Another LastTransitionTime counts as a change,
	// too: in a heartbeat, and with a change to True or False of a node that is not Expired. A node that has not changed has
	// the time at which the monitor first saw it; without a Ready condition, its creation as NodeStartupGracePeriod counts it.
	// Since is never before the first Pass, nor before the last restart of all clocks.
	Since time.Time
	// LastBeat is when the last sign of life was noted. While one waits for the next Pass, it is now.
	LastBeat time.Time
	Grace    time.Duration
	// Settles is when the failure of the node may be acted on if nothing changes before. It may lie in the past. It is zero
	// unless Ready is False or the node is Expired.
	//
	//   - A node that is Expired settles one Grace (with a period, and 1ns) after its LastBeat, but not before it was watched
	//     for one Grace.
	//   - A node whose Ready is False, as it says itself, settles when it was watched for one Grace, or as soon as it has
	//     changed or given a sign of life since the watch began and since its first verdict.
	//
	// The watch of a node begins when the monitor first sees it, and anew when all clocks restart.
	Settles time.Time
}

type readiness uint8

const (
	readyMissing readiness = iota
	readyTrue
	readyFalse
	readyUnknown
)

func readinessOf(s v1.ConditionStatus) readiness {
	switch s {
	case v1.ConditionTrue:
		return readyTrue
	case v1.ConditionFalse:
		return readyFalse
	default:
		return readyUnknown
	}
}

var readinessStatus = [...]v1.ConditionStatus{"", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}

// verdict returns the node's verdict, with instants as of the clock's last reading.
func (m *Monitor) verdict(e *monitored) Verdict {
	n := &e.of
	beat := m.beats.now
	if !n.heard {
		beat = steady.Add(e.beat, time.Duration(e.group.lost))
	}
	return Verdict{
		Node: n.name, UID: types.UID(n.uid),
		Observed: readinessStatus[n.observed], Ready: readinessStatus[n.told.judged], Expired: n.expired,
		Since: m.instant(n.since), LastBeat: m.guard.Time.Instant(beat), Grace: time.Duration(e.group.grace), Settles: m.settles(e, beat),
	}
}

// settles returns since when the node's verdict can be acted on, or from when, if nothing changes. beat is its
// LastBeat, in steady time.
func (m *Monitor) settles(e *monitored, beat int64) time.Time {
	n, at := &e.of, max(e.of.watched, m.anew)
	switch {
	case n.expired:
		at = max(at, steady.Sub(beat, m.grace.lost))
	case n.told.judged != readyFalse:
		return time.Time{}
	case n.spoke && n.observed == readyFalse:
		return m.instant(max(n.since, at))
	}
	return m.instant(steady.Add(at+m.strict, time.Duration(e.group.grace)))
}

// Verdict returns the node's verdict, or false if no Pass has reached one yet. Ready and Since are as of the last Pass
// or restart, other fields of now.
func (m *Monitor) Verdict(node string) (Verdict, bool) {
	m.lock()
	defer m.guard.Unlock()
	e := m.nodes.Get(node)
	if e == nil || !e.of.known {
		return Verdict{}, false
	}
	return m.verdict(e), true
}
