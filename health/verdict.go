package health

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Verdict is what the monitor says about a node, as of the last Pass.
type Verdict struct {
	Node string
	UID  types.UID
	// Observed is the Ready status in the node's object. Ready is the monitor's: Unknown if the node has been silent
	// for too long, else the same as Observed. Empty means that there is no Ready condition, which counts as not
	// ready.
	Observed, Ready v1.ConditionStatus
	// Expired: no heartbeat was seen for a whole grace period; UnknownConditions returns what to write.
	Expired bool
	// Suspect: no heartbeat was seen for a whole grace period, which Monitor.Confirm has yet to be told; see
	// Config.Confirm. The other fields are as before that, so that Ready is Unknown only if it was.
	Suspect bool
	// Since is when Ready last changed, LastBeat when the last sign of life was noted, both by our own clock, or when
	// all clocks last started if that was later. A node that never reported starts with its creation. Time in which
	// nobody listened moves both forward, so that LastBeat plus Grace is the deadline.
	Since, LastBeat time.Time
	Grace           time.Duration

	beat int64 // the last one, in a suspect's verdict: it tells one silence from another
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
	case "":
		return readyMissing
	case v1.ConditionTrue:
		return readyTrue
	case v1.ConditionFalse:
		return readyFalse
	default:
		return readyUnknown
	}
}

var readinessStatus = [...]v1.ConditionStatus{"", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}

func (m *Monitor) verdict(e *monitored) Verdict {
	n := &e.of
	grace := m.config.NodeMonitorGracePeriod
	if n.observed == readyMissing {
		grace = m.config.NodeStartupGracePeriod
	}
	v := Verdict{
		Node: n.name, UID: types.UID(n.uid),
		Observed: readinessStatus[n.observed], Ready: readinessStatus[n.judged], Expired: n.expired,
		Since: m.listening.instant(n.since), LastBeat: m.listening.instant(e.beat), Grace: grace,
	}
	if v.Suspect = suspected(e); v.Suspect {
		v.beat = e.beat
	}
	return v
}

// suspected says whether the node's silence waits for Confirm.
func suspected(e *monitored) bool { return e.of.doubted && e.isOut() }

// Verdict returns the node's verdict; false if no Pass has given one yet. Ready is as of the last Pass; the other fields
// may be newer. Instants are given as the clock showed them when it was last read.
func (m *Monitor) Verdict(node string) (Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(node)
	if e == nil || !e.of.known {
		return Verdict{}, false
	}
	return m.verdict(e), true
}
