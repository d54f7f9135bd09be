package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Settled says whether a failed node has been watched for one whole grace period since the start, or
// since its clock last started anew: an Unknown one without any heartbeat, one that reports not Ready
// simply for that long. A node that came later and has since been seen to change to not Ready is Settled at once.
// False for nodes that are Ready or not known. What would harm a node because of
// a verdict that is older than our watching waits for it.
func (m *Monitor) Settled(node string) bool {
	now := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok || !m.nodes[i].known {
		return false
	}
	n := &m.nodes[i]
	came := n.watched > m.anew
	watched := m.time.at(now) >= sum(n.watched, m.beats.lists[m.beats.entries[i].list].grace)
	switch n.judged {
	case readyTrue:
		return false
	case readyUnknown:
		return n.confirmed && (came || watched) // one that never reported is silent since before we came
	default:
		return watched || came && n.since > n.watched
	}
}

// SettlesAt is when a node that reports not Ready, or that a Pass has found silent for a whole grace period, will
// have been watched for long enough to be Settled; false for others, of which an Unknown one waits for that Pass.
func (m *Monitor) SettlesAt(node string) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok {
		return time.Time{}, false
	}
	if n := &m.nodes[i]; n.judged != readyFalse && (n.judged != readyUnknown || !n.confirmed) {
		return time.Time{}, false
	}
	return m.time.time(sum(m.nodes[i].watched, m.beats.lists[m.beats.entries[i].list].grace)), true
}

// Restart lets all clocks start anew now, as if every node had given a sign of life: for the moment
// when the observer sees again. A node that was Unknown stays Unknown until it reports, but is not
// Settled before one more grace period.
func (m *Monitor) Restart() {
	now := m.time.clock.Now()
	m.mu.Lock()
	m.restart(m.time.at(now))
	m.mu.Unlock()
}

func (m *Monitor) restart(now int64) {
	m.anew = now
	for i := range m.nodes {
		if !m.beats.entries[i].used {
			continue
		}
		n := &m.nodes[i]
		n.since, n.watched, n.confirmed = now, now, false
		m.beats.put(int32(i), m.beats.entries[i].list, m.note(now))
	}
}

// Freeze stops verdicts until Thaw with the same reason; reasons add up. Observations are still noted.
func (m *Monitor) Freeze(reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.frozen, reason) {
		m.frozen = append(m.frozen, reason)
	}
}

// Thaw ends Freeze with that reason and says whether there was one. With the last one gone all clocks
// start anew.
func (m *Monitor) Thaw(reason string) bool {
	now := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.frozen, reason)
	if i < 0 {
		return false
	}
	m.frozen = slices.Delete(m.frozen, i, i+1)
	if len(m.frozen) == 0 {
		at := m.time.at(now)
		m.inserted = at // nothing was promised while frozen
		m.restart(at)
	}
	return true
}

// Frozen returns the reasons in force, oldest first.
func (m *Monitor) Frozen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.frozen)
}

// Blind is how often a Pass came so late that all clocks were started anew.
func (m *Monitor) Blind() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blind
}

// Forget drops a node and says whether it was known. With a UID only that identity is dropped, so that
// a late event about an old node cannot drop the new one; empty means any.
func (m *Monitor) Forget(node string, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok || uid != "" && m.nodes[i].uid != string(uid) {
		return false
	}
	m.forget(node, i)
	return true
}

func (m *Monitor) forget(node string, i int32) {
	if m.nodes[i].touched {
		m.changed = slices.DeleteFunc(m.changed, func(c int32) bool { return c == i })
	}
	m.nodes[i] = nodeRecord{}
	m.beats.remove(i)
	m.index.Delete(node)
}

// Len is the number of nodes.
func (m *Monitor) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index.Len()
}

// NodeSnapshot is one node in a snapshot. Silent and Unchanged are ages, so that the time while nobody
// watched is not counted.
type NodeSnapshot struct {
	Node       string             `json:"node"`
	UID        types.UID          `json:"uid"`
	Observed   v1.ConditionStatus `json:"observed"`
	Ready      v1.ConditionStatus `json:"ready"`
	Expired    bool               `json:"expired,omitempty"`
	Silent     time.Duration      `json:"silent"`
	Unchanged  time.Duration      `json:"unchanged"`
	Heartbeat  int64              `json:"heartbeat"`
	Transition int64              `json:"transition"`
	Lease      *int64             `json:"lease,omitempty"`
}

// Snapshot returns every node, in the order of their names.
func (m *Monitor) Snapshot() []NodeSnapshot {
	clockNow := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.time.at(clockNow)
	all := make([]NodeSnapshot, 0, m.index.Len())
	for i := range m.nodes {
		n := &m.nodes[i]
		if !m.beats.entries[i].used {
			continue
		}
		s := NodeSnapshot{
			Node: n.name, UID: types.UID(n.uid), Observed: readinessStatus[n.observed], Ready: readinessStatus[n.judged], Expired: n.expired,
			Silent: time.Duration(max(now-m.beats.entries[i].beat, 0)), Unchanged: time.Duration(max(now-n.since, 0)), Heartbeat: n.heartbeat, Transition: n.transition,
		}
		if e := &m.beats.entries[i]; e.stamped {
			lease := e.stamp
			s.Lease = &lease
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b NodeSnapshot) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// Restore tracks the nodes of a snapshot in an empty monitor, as silent and unchanged for as long as
// they were when it was taken. Restored nodes are not Settled: we have not watched them. A monitor that
// is not empty, a node twice or an age below zero is an error, and then nothing is changed.
func (m *Monitor) Restore(snapshot []NodeSnapshot) error {
	clockNow := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.index.Len() > 0 || m.started {
		return fmt.Errorf("health: Restore needs a monitor that has seen nothing yet")
	}
	seen := make(map[string]struct{}, len(snapshot))
	for _, s := range snapshot {
		if _, twice := seen[s.Node]; twice || s.Silent < 0 || s.Unchanged < 0 {
			return fmt.Errorf("health: cannot restore node %s: twice, or of an age below zero", s.Node)
		}
		seen[s.Node] = struct{}{}
	}
	now := m.time.at(clockNow)
	m.begin(now)
	m.lastPass = now
	for _, s := range snapshot {
		i, _ := m.index.Insert(s.Node)
		m.beats.add(i)
		n := nodeRecord{
			name: s.Node, uid: string(s.UID), heartbeat: s.Heartbeat, transition: s.Transition, since: now - int64(s.Unchanged), watched: now,
			observed: readinessFrom(s.Observed), judged: readinessFrom(s.Ready), expired: s.Expired,
		}
		e := &m.beats.entries[i]
		if s.Lease != nil {
			e.stamp, e.stamped = *s.Lease, true
		}
		e.flagged = s.Expired
		m.nodes = append(m.nodes, n)
		list := m.running
		if n.observed == readyMissing {
			list = m.startup
		}
		m.beats.put(i, list, now-int64(s.Silent))
		m.touch(i)
	}
	m.inserted = now
	return nil
}

func readinessFrom(s v1.ConditionStatus) readiness {
	if s == "" {
		return readyMissing
	}
	return readinessOf(s)
}
