package health

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// note is when a heartbeat that arrives now is noted: on the grid at the first pass at or after it.
func (m *Monitor) note(now int64) int64 {
	period := int64(m.config.NodeMonitorPeriod)
	if period == 0 || !m.started {
		return now
	}
	if rest := (now - m.origin) % period; rest > 0 {
		return now - rest + period
	}
	return now
}

// ObserveNode reads the node's identity, creation and Ready condition; it keeps nothing of the object.
// A node with another UID than the one known by its name starts afresh. A heartbeat time that differs
// from the last one, earlier or later, is a sign of life, and so is True or False where there was no Ready
// condition; it is compared with nothing else. An object whose resourceVersion is older than the last one
// seen of the same node is ignored.
func (m *Monitor) ObserveNode(node *v1.Node) Observation {
	ready := find(node, v1.NodeReady)
	clockNow := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.time.at(clockNow)
	i, ok := m.index.Find(node.Name)
	if ok && m.nodes[i].uid != string(node.UID) {
		m.forget(node.Name, i)
		ok = false
	}
	if !ok {
		m.addNode(node, ready, now)
		return Observation{New: true, Heartbeat: true}
	}
	n := &m.nodes[i]
	if olderVersion(node.ResourceVersion, n.version) {
		return Observation{Stale: true}
	}
	n.version = node.ResourceVersion
	if ready == nil {
		if n.observed != readyMissing {
			n.observed = readyMissing
			m.relist(i)
			m.touch(i)
		}
		return Observation{}
	}
	status := readinessOf(ready.Status)
	theirs := status != readyUnknown // what we wrote is no news
	first, changed := theirs && n.observed == readyMissing, theirs && n.observed != status
	if n.observed == readyMissing {
		n.observed = status
		m.relist(i)
		m.touch(i)
	} else if n.observed != status {
		n.observed = status
		m.touch(i)
	}
	stamp := ready.LastHeartbeatTime.UnixNano()
	heartbeat := first || n.heartbeat != stamp
	if transition := ready.LastTransitionTime.UnixNano(); transition != n.transition && (heartbeat || changed) {
		n.transition = transition
		n.since = m.note(now)
	}
	if !heartbeat {
		return Observation{}
	}
	n.heartbeat = stamp
	m.beat(i, now)
	return Observation{Heartbeat: true}
}

// addNode begins to watch a node.
func (m *Monitor) addNode(node *v1.Node, ready *v1.NodeCondition, now int64) {
	i, _ := m.index.Insert(node.Name)
	m.beats.add(i)
	record := nodeRecord{name: node.Name, uid: string(node.UID), version: node.ResourceVersion, since: m.note(now), watched: m.note(now)}
	list, first := m.running, m.note(now)
	if ready == nil {
		list = m.startup
		record.heartbeat = node.CreationTimestamp.UnixNano()
		record.transition = record.heartbeat
		// The creation is another machine's time; it serves only where it may be true.
		if created := node.CreationTimestamp.Time; !created.IsZero() && !created.After(m.time.time(now)) {
			first = int64(created.Sub(m.time.base))
			record.since = first
		}
	} else {
		record.observed = readinessOf(ready.Status)
		record.heartbeat = ready.LastHeartbeatTime.UnixNano()
		record.transition = ready.LastTransitionTime.UnixNano()
	}
	if int(i) == len(m.nodes) {
		m.nodes = append(m.nodes, record)
	} else {
		m.nodes[i] = record
	}
	m.inserted = now
	m.beats.put(i, list, first)
	m.touch(i)
}

// relist moves the node to the list of its grace period.
func (m *Monitor) relist(i int32) {
	list := m.running
	if m.nodes[i].observed == readyMissing {
		list = m.startup
	}
	if e := &m.beats.entries[i]; e.listed {
		m.beats.put(i, list, e.beat)
	} else {
		e.list = list
	}
}

func (m *Monitor) touch(i int32) {
	if n := &m.nodes[i]; !n.touched {
		n.touched = true
		m.changed = append(m.changed, i)
	}
}

func (m *Monitor) beat(i int32, now int64) {
	e := &m.beats.entries[i]
	if e.flagged {
		e.flagged = false
		m.nodes[i].expired, m.nodes[i].confirmed = false, false
		m.touch(i)
	}
	m.beats.put(i, e.list, m.note(now))
}

// ObserveRenewal notes the renewTime of a node's lease and says whether it was a sign of life: whether
// it differs from the last one, earlier or later. A node that is not known is ignored. O(1), without
// allocation.
func (m *Monitor) ObserveRenewal(node string, renewTime time.Time) bool {
	now := m.time.clock.Now()
	m.mu.Lock()
	i, ok := m.index.Find(node)
	ok = ok && m.renew(i, renewTime, now)
	m.mu.Unlock()
	return ok
}

// ObserveLease is ObserveRenewal for a lease with its resourceVersion: an older one than the last seen
// is ignored, as a relist from a stale cache may bring it.
func (m *Monitor) ObserveLease(node string, renewTime time.Time, resourceVersion string) bool {
	now := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok || olderVersion(resourceVersion, m.nodes[i].leaseVersion) {
		return false
	}
	m.nodes[i].leaseVersion = resourceVersion
	return m.renew(i, renewTime, now)
}

func (m *Monitor) renew(i int32, renewTime, now time.Time) bool {
	e := &m.beats.entries[i]
	stamp := renewTime.UnixNano()
	if e.stamped && e.stamp == stamp {
		return false
	}
	e.stamp, e.stamped = stamp, true
	m.beat(i, m.time.at(now))
	return true
}

// Handle returns the node's handle for ObserveRenewalHandle, which saves the look-up. It is valid until
// the node is forgotten or another identity takes its name.
func (m *Monitor) Handle(node string) (Handle, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	return Handle(i), ok
}

// ObserveRenewalHandle is ObserveRenewal by handle.
func (m *Monitor) ObserveRenewalHandle(h Handle, renewTime time.Time) bool {
	now := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if h < 0 || int(h) >= len(m.beats.entries) || !m.beats.entries[h].used {
		return false
	}
	return m.renew(int32(h), renewTime, now)
}
