package health

import (
	"math"
	"slices"
	"time"

	"github.com/evictkit/evictkit/internal/steady"
)

// Settled reports whether the monitor has watched a failed node for long enough that you can act on its verdict. That
// takes one whole grace period of the node (Verdict.Grace), in listened time, since the node was first seen and since
// all clocks last started (with the first Pass, a Restart, a Thaw or a gap; see "Listening" in the package comment). An
// Unknown node must have been silent all that time, and must not be a suspect. For a node whose verdict is False, it is
// enough that the time has passed; if it was first seen after the clocks started and then changed to False, it is
// Settled at once. No other node is Settled. Wait for Settled before you harm a node because of a verdict that may be
// older than the watching.
func (m *Monitor) Settled(node string) bool { return m.SettledAt(node, m.now()) }

// SettledAt is Settled at a reading of the clock.
func (m *Monitor) SettledAt(node string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(node)
	at := m.listening.read(now)
	if e == nil || m.listening.losing() && len(m.frozen) == 0 && m.restarts(at) {
		return false // the next Pass will find the loss
	}
	settles, ok := m.settles(e)
	return ok && at >= settles
}

// settles returns since when the node's verdict can be acted on, or from when, if nothing changes.
func (m *Monitor) settles(e *monitored) (at int64, ok bool) {
	n := &e.of
	switch ready := n.told.judged; {
	case ready == readyFalse && n.watched > m.anew && n.since > n.watched:
		return n.since, true // we saw it change
	case ready == readyFalse, ready == readyUnknown && e.isOut() && !n.doubted:
		return steady.Add(max(n.watched, m.anew), time.Duration(e.grace)), true
	}
	return 0, false
}

// Settles returns when the node becomes Settled if nothing changes, as the clock showed it when it was last read. That
// may lie in the past. It returns false unless the verdict is False, or is Unknown and was found by a Pass or confirmed
// since all clocks last started.
func (m *Monitor) Settles(node string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(node)
	if e == nil {
		return time.Time{}, false
	}
	at, ok := m.settles(e)
	if !ok {
		return time.Time{}, false
	}
	return m.listening.instant(at), true
}

// restarts reports whether a loss starts all clocks again. It does so at most once in two graces, so that no rhythm of
// calls keeps the monitor silent for ever.
func (m *Monitor) restarts(at int64) bool {
	return m.lossAt == math.MinInt64 || at-m.lossAt >= 2*max(m.grace, m.startup)
}

// Restart restarts the clocks of all nodes, as if each had given a sign of life now. Call it when the observer can
// see again. A node that was Unknown stays Unknown at least until its next sign of life, and is not Settled before one
// more grace period. O(n).
func (m *Monitor) Restart() { m.RestartAt(m.now()) }

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
		if e.of.doubted {
			e.of.doubted = false
			m.touch(e)
		}
		m.beats.put(e, noted)
	}
}

// Freeze stops verdicts until Thaw is called with the same reason. Several reasons may be in force; the same one twice
// counts once. The monitor still notes observations.
func (m *Monitor) Freeze(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.frozen, reason) {
		m.frozen = append(m.frozen, reason)
	}
}

// Thaw ends a Freeze with that reason and reports whether there was one. When no reason is left, the clocks of all
// nodes start again, as with Restart.
func (m *Monitor) Thaw(reason string) bool { return m.ThawAt(reason, m.now()) }

// ThawAt is Thaw at a reading of the clock.
func (m *Monitor) ThawAt(reason string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listening.read(now)
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

// Blind returns how often a Pass found that nobody had listened for more than a grace period, and restarted all clocks,
// as Restart does.
func (m *Monitor) Blind() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blind
}
