package health

import "time"

// Confirm makes a suspect Unknown and returns its verdict, which the next Pass does not return again. Pass it the
// verdict that calls the node a suspect. It returns false and changes nothing if that silence has ended since: by a
// sign of life, by a restart of all clocks, or because the node was forgotten. It does the same while the monitor is
// frozen.
func (m *Monitor) Confirm(suspect Verdict) (Verdict, bool) {
	return m.ConfirmAt(suspect, m.now())
}

// ConfirmAt is Confirm at a reading of the clock.
func (m *Monitor) ConfirmAt(suspect Verdict, now time.Time) (Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	e := m.silent(suspect)
	if e == nil || len(m.frozen) > 0 {
		return Verdict{}, false
	}
	e.of.doubted, e.of.expired = false, true
	m.untouch(&e.of)
	m.judge(e, at)
	return m.verdict(e), true
}

// Revive notes a sign of life of a suspect that neither its lease nor its object shows, and reports whether it did. It
// does nothing if the silence behind the verdict has ended since.
func (m *Monitor) Revive(suspect Verdict) bool { return m.ReviveAt(suspect, m.now()) }

// ReviveAt is Revive at a reading of the clock.
func (m *Monitor) ReviveAt(suspect Verdict, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	e := m.silent(suspect)
	if e != nil {
		m.beat(e, at)
	}
	return e != nil
}

// silent returns the node of a suspect's verdict, if it has been silent ever since, or nil.
func (m *Monitor) silent(suspect Verdict) *monitored {
	e := m.nodes.Get(suspect.Node)
	if e == nil || !suspect.Suspect || differ(e.of.uid, string(suspect.UID)) || !e.of.doubted || e.beat != suspect.beat {
		return nil
	}
	return e
}
