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
	// Expired: the monitor saw no heartbeat for a whole grace period; UnknownConditions returns what to write.
	Expired bool
	// Suspect: the monitor saw no heartbeat for a whole grace period, and waits for Monitor.Confirm; see Config.Confirm.
	// Until then the silence does not change Ready and Expired: Ready is Unknown, with Expired, only if it was before.
	Suspect bool
	// Since is the Pass at which Ready last changed, or which found that it had changed meanwhile: its LastTransitionTime
	// was another one, with a heartbeat or a change to True or False. LastBeat is when the monitor noted the last sign of
	// life; on the grid that is up to a period ahead. Both are by our own clock, and never before all clocks last started.
	// For a new node, both are the time at which the monitor first saw it or, without a Ready condition, its creation, but
	// not before the last Pass. Time in which nobody listened moves both forward, so that LastBeat plus Grace is the
	// deadline.
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
		Observed: readinessStatus[n.observed], Ready: readinessStatus[n.told.judged], Expired: n.expired,
		Since: m.listening.instant(n.since), LastBeat: m.listening.instant(e.beat), Grace: grace,
	}
	if v.Suspect = n.doubted; v.Suspect {
		v.beat = e.beat
	}
	return v
}

// Verdict returns the node's verdict, or false if no Pass has reached one yet. Ready and Since are as of the last Pass
// or restart; the other fields may be newer. Instants are what the clock showed then, as of its last reading.
func (m *Monitor) Verdict(node string) (Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(node)
	if e == nil || !e.of.known {
		return Verdict{}, false
	}
	return m.verdict(e), true
}
