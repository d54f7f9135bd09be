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

	silence silence // in a suspect's verdict, which silence it is
}

// silence tells one silence of a node from another.
type silence struct {
	beat  int64
	round uint32
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

func (m *Monitor) verdict(i int32) Verdict {
	n, e := m.records.At(i), m.beats.entries.At(i)
	grace := m.config.NodeMonitorGracePeriod
	if n.observed == readyMissing {
		grace = m.config.NodeStartupGracePeriod
	}
	v := Verdict{
		Node: m.index.Key(i), UID: types.UID(n.uid),
		Observed: readinessStatus[n.observed], Ready: readinessStatus[n.judged], Expired: n.expired,
		Since: m.listening.instant(m.since(n)), LastBeat: m.listening.instant(m.beats.lastBeat(e)), Grace: grace,
	}
	if v.Suspect = m.suspect(i); v.Suspect {
		v.silence = silence{m.beats.lastBeat(e), m.beats.round}
	}
	return v
}

// suspect says whether the node's silence waits for Confirm.
func (m *Monitor) suspect(i int32) bool {
	return m.records.At(i).doubted && m.beats.isOut(m.beats.entries.At(i))
}

// Verdict returns the node's verdict; false if no Pass has given one yet. Ready is as of the last Pass; the other fields
// may be newer. Instants are given as the clock showed them when it was last read.
func (m *Monitor) Verdict(node string) (Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok || !m.records.At(i).known {
		return Verdict{}, false
	}
	return m.verdict(i), true
}

func (m *Monitor) since(n *nodeRecord) int64 {
	if n.round != m.beats.round {
		return m.anew
	}
	return n.since
}

func (m *Monitor) setSince(n *nodeRecord, at int64) { n.since, n.round = at, m.beats.round }
