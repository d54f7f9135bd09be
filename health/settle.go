package health

import (
	"math"
	"slices"
	"time"
)

// Settled reports whether we have watched a failed node for long enough to act on its verdict: for one whole grace period
// of listened time since it was first seen, and since all clocks last started (with the first Pass, a Restart or a loss;
// see "Listening" in the package comment). An Unknown node must have been silent all that time, and be no suspect; for one that
// reports not Ready it is enough that the time has passed. A node that came later, and that we have since seen change to
// not Ready, is Settled at once. Ready and unknown nodes are not Settled. Wait for Settled before you harm a node because
// of a verdict that may be older than our watching.
func (m *Monitor) Settled(node string) bool { return m.SettledAt(node, m.clock.Now()) }

// SettledAt is Settled at a reading of the clock.
func (m *Monitor) SettledAt(node string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(node)
	at := m.listening.read(now)
	if e == nil || m.listening.losing() && len(m.frozen) == 0 && m.restarts(at) {
		return false // the next Pass will find the loss
	}
	n, watched := &e.of, at >= m.settles(e)
	switch {
	case !n.known || n.judged == readyTrue:
		return false
	case n.judged == readyUnknown:
		return watched && e.isOut() && !n.doubted
	default:
		return watched || n.watched > m.anew && n.since > n.watched
	}
}

// settles returns when the node will have been watched for a whole grace period.
func (m *Monitor) settles(e *monitored) int64 { return sum(max(e.of.watched, m.anew), e.grace) }

// Settles returns when a node will have been watched for long enough to be Settled, if it reports not Ready or a Pass has
// found it silent for a whole grace period; false for all others, including an Unknown node that still waits for such a
// Pass, or for Confirm. The instant is given as the clock showed it when it was last read.
func (m *Monitor) Settles(node string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(node)
	if e == nil || e.of.judged != readyFalse && (e.of.judged != readyUnknown || e.of.doubted || !e.isOut()) {
		return time.Time{}, false
	}
	return m.listening.instant(m.settles(e)), true
}

// restarts reports whether a loss starts all clocks again. It does so at most once in two graces, so that no rhythm of
// calls keeps the monitor silent for ever.
func (m *Monitor) restarts(at int64) bool {
	return m.lossAt == math.MinInt64 || at-m.lossAt >= 2*max(m.grace, m.startup)
}

// Restart starts the clocks of all nodes again, as if each had given a sign of life now. Call it when the observer can
// see again. A node that was Unknown stays Unknown at least until its next sign of life, and is not Settled before one
// more grace period. O(n).
func (m *Monitor) Restart() { m.RestartAt(m.clock.Now()) }

// RestartAt is Restart at a reading of the clock.
func (m *Monitor) RestartAt(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restart(m.listening.read(now))
}

func (m *Monitor) restart(at int64) {
	m.anew = at
	noted := m.listening.note(at)
	for _, e := range m.nodes.All() {
		e.of.since = at
		m.beats.put(e, noted)
	}
}

// Freeze stops verdicts until Thaw is called with the same reason. Several reasons may be in force; the same one twice is
// one. Observations are still noted.
func (m *Monitor) Freeze(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.frozen, reason) {
		m.frozen = append(m.frozen, reason)
	}
}

// Thaw ends a Freeze with that reason and reports whether there was one. When no reason is left, the clocks of all nodes
// start again, as by Restart.
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
		m.listening.skip(now) // Next asked for no call while frozen
		if m.listening.grid() {
			m.passed = m.listening.heard // as after a pass
		}
		m.restart(m.listening.read(now))
	}
	return true
}

// Blind returns how often a Pass found that nobody had listened for more than a grace period, and started all clocks
// again, as by Restart.
func (m *Monitor) Blind() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blind
}
