package health

import (
	"math"
	"slices"
	"time"
)

// Settled says whether a failed node has been watched for one whole grace period of listened time since the start,
// since all clocks last started anew, or since nobody listened for long: an Unknown one without any heartbeat, one
// that reports not Ready simply for that long. A node that came later and has since been seen to change to not Ready
// is Settled at once. False for nodes that are Ready or not known. What would harm a node because of a verdict that
// is older than our watching waits for it.
func (m *Monitor) Settled(node string) bool { return m.SettledAt(node, m.clock.Now()) }

// SettledAt is Settled at a reading of the clock.
func (m *Monitor) SettledAt(node string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	at := m.listening.read(now)
	if !ok || m.listening.losing() && len(m.frozen) == 0 && m.unsettles(at) {
		return false // the Pass that is to come will say so
	}
	n, e := m.records.At(i), m.beats.entries.At(i)
	watched := at >= m.settles(i)
	switch {
	case !n.known || n.judged == readyTrue:
		return false
	case n.judged == readyUnknown:
		return watched && m.beats.isOut(e)
	default:
		return watched || n.watched > m.anew && m.since(n) > n.watched
	}
}

// settles is when the node will have been watched for a whole grace period.
func (m *Monitor) settles(i int32) int64 {
	return sum(max(m.records.At(i).watched, m.anew), m.beats.graceOf(i, m.beats.entries.At(i)))
}

// Settles says when a node that reports not Ready, or that a Pass has found silent for a whole grace period, will
// have been watched for long enough to be Settled; false for others, of which an Unknown one waits for that Pass. The
// instant is told as the clock showed it when it was last read.
func (m *Monitor) Settles(node string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok {
		return time.Time{}, false
	}
	n := m.records.At(i)
	if n.judged != readyFalse && (n.judged != readyUnknown || !m.beats.isOut(m.beats.entries.At(i))) {
		return time.Time{}, false
	}
	return m.listening.instant(m.settles(i)), true
}

// unsettles says whether a loss makes what has failed wait for one more grace. Not again within two graces, so that no
// rhythm of calls lets it wait for ever.
func (m *Monitor) unsettles(at int64) bool {
	return m.lossAt == math.MinInt64 || at-m.lossAt >= 2*max(m.beats.grace, m.startup)
}

// Restart lets all clocks start anew now, as if every node had given a sign of life: for the moment when the observer
// sees again. A node that was Unknown stays Unknown until it reports, but is not Settled before one more grace period.
// O(1).
func (m *Monitor) Restart() { m.RestartAt(m.clock.Now()) }

// RestartAt is Restart at a reading of the clock.
func (m *Monitor) RestartAt(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restart(m.listening.read(now))
}

func (m *Monitor) restart(at int64) {
	m.anew, m.restarted = at, at
	m.beats.restart(m.listening.note(at))
}

// Freeze stops verdicts until Thaw with the same reason; reasons add up. Observations are still noted.
func (m *Monitor) Freeze(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.frozen, reason) {
		m.frozen = append(m.frozen, reason)
	}
}

// Thaw ends Freeze with that reason and says whether there was one. With the last one gone all clocks start anew, as by
// Restart.
func (m *Monitor) Thaw(reason string) bool { return m.ThawAt(reason, m.clock.Now()) }

// ThawAt is Thaw at a reading of the clock.
func (m *Monitor) ThawAt(reason string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.frozen, reason)
	if i < 0 {
		return false
	}
	m.frozen = slices.Delete(m.frozen, i, i+1)
	if len(m.frozen) == 0 {
		m.listening.skip(now) // nothing was promised while frozen
		if m.listening.grid() {
			m.passed = m.listening.heard // as a snapshot of it has it
		}
		m.restart(m.listening.read(now))
	}
	return true
}

// Blind is how often a Pass found that nobody had listened for more than a grace period, and let what has failed wait
// for one more grace until it is Settled.
func (m *Monitor) Blind() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blind
}
