package health

import "time"

// Confirm makes a suspect Unknown and returns its verdict, which the next Pass does not return again. suspect is a
// verdict of the node that calls it a suspect. It returns false, and changes nothing, if that silence has ended since: by
// a sign of life, because all clocks restarted, or because the node was forgotten. It also does so while the monitor is
// frozen.
func (m *Monitor) Confirm(suspect Verdict) (Verdict, bool) {
	return m.ConfirmAt(suspect, m.clock.Now())
}

// ConfirmAt is Confirm at a reading of the clock.
func (m *Monitor) ConfirmAt(suspect Verdict, now time.Time) (Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	i, ok := m.silent(suspect)
	if !ok || len(m.frozen) > 0 {
		return Verdict{}, false
	}
	n := m.records.At(i)
	n.doubted, n.expired = false, true
	m.untouch(n)
	return m.judge(i, at), true
}

// Revive notes a sign of life of a suspect that neither its lease nor its object shows, and reports whether it did. It
// does nothing if the silence that the verdict calls suspect has ended since.
func (m *Monitor) Revive(suspect Verdict) bool { return m.ReviveAt(suspect, m.clock.Now()) }

// ReviveAt is Revive at a reading of the clock.
func (m *Monitor) ReviveAt(suspect Verdict, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	i, ok := m.silent(suspect)
	if ok {
		m.beat(i, at)
	}
	return ok
}

// silent returns the node of a suspect's verdict, if it has been silent ever since.
func (m *Monitor) silent(suspect Verdict) (number int32, ok bool) {
	i, ok := m.index.Find(suspect.Node)
	if !ok || !suspect.Suspect || differ(m.records.At(i).uid, string(suspect.UID)) || !m.suspect(i) {
		return none, false
	}
	return i, suspect.silence == silence{m.beats.lastBeat(m.beats.entries.At(i)), m.beats.round}
}
