package health

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/steady"
)

// Observation says what an observation brought.
type Observation struct {
	// New: the node, or this identity of it, was not known.
	New bool
	// Heartbeat: it is a sign of life.
	Heartbeat bool
	// Stale: the object is older than the one seen before and was ignored in whole.
	Stale bool
}

// ObserveNode observes the Report that a node's object makes; it keeps nothing of the object.
func (m *Monitor) ObserveNode(node *v1.Node) Observation {
	return m.ObserveAt(reportOf(node), m.clock.Now())
}

// ObserveNodeAt is ObserveNode at a reading of the clock.
func (m *Monitor) ObserveNodeAt(node *v1.Node, now time.Time) Observation {
	return m.ObserveAt(reportOf(node), now)
}

// Observe notes what a node reports. A heartbeat time that differs from the last one, earlier or later, is a sign of
// life, and so is True or False where there was no Ready status; it is compared with nothing else. A report whose
// ResourceVersion is older than the last one seen is ignored; the package comment says more. One of another UID than
// the one known by its name starts afresh.
func (m *Monitor) Observe(r Report) Observation { return m.ObserveAt(r, m.clock.Now()) }

// ObserveAt is Observe at a reading of the clock.
func (m *Monitor) ObserveAt(r Report, now time.Time) Observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(r.Node)
	at := m.listening.read(now)
	if !ok {
		m.addNode(r, at)
		return Observation{New: true, Heartbeat: true}
	}
	return m.observe(i, r, at)
}

func (m *Monitor) observe(i int32, r Report, at int64) Observation {
	n := m.records.At(i)
	status, stamp := readinessOf(r.Ready), int64(noStamp)
	if status != readyMissing {
		stamp = r.Heartbeat.UnixNano()
	}
	number := parseVersion(r.ResourceVersion)
	if differ(n.uid, string(r.UID)) {
		if number != 0 && n.node.epoch == m.nodes.number && number < n.node.number {
			return Observation{Stale: true}
		}
		m.forget(r.Node, i)
		m.addNode(r, at)
		return Observation{New: true, Heartbeat: true}
	}
	believed, alive := m.nodes.see(&n.node, number, stamp, n.heartbeat)
	if !believed {
		return Observation{Stale: true}
	}
	if n.uid == "" {
		n.uid = string(r.UID)
	}
	if status == readyMissing {
		m.setObserved(i, n, readyMissing)
		return Observation{}
	}
	theirs := status != readyUnknown // what we wrote is no news
	changed := theirs && n.observed != status
	heartbeat := alive || changed && n.observed == readyMissing
	m.setObserved(i, n, status)
	if transition := r.Transition.UnixNano(); transition != n.transition && (heartbeat || changed) {
		n.transition = transition
		m.setSince(n, m.listening.note(at))
	}
	n.heartbeat = stamp
	if heartbeat {
		m.beat(i, at)
	}
	return Observation{Heartbeat: heartbeat}
}

// addNode begins to watch a node.
func (m *Monitor) addNode(r Report, at int64) {
	i, _ := m.index.Insert(r.Node)
	m.beats.add(i)
	n := m.records.Use(i)
	noted := m.listening.note(at)
	*n = nodeRecord{
		uid: string(r.UID), watched: noted, observed: readinessOf(r.Ready),
		node: version{number: parseVersion(r.ResourceVersion), epoch: m.nodes.number, peak: noStamp}, lease: version{peak: noStamp},
		heartbeat: r.Heartbeat.UnixNano(), transition: r.Transition.UnixNano(),
	}
	first := noted
	if n.observed == readyMissing {
		n.heartbeat = r.Created.UnixNano() // as what we write of such a node has it
		n.transition = n.heartbeat
		m.beats.setGrace(i, m.startup)
		if age, ok := m.age(r.Created, at); ok {
			first = steady.Sub(at, age)
		}
	}
	m.setSince(n, first)
	m.beats.put(i, first)
	m.touch(i)
}

// age is how old a node is that is seen for the first time, in listened time. Its creation is another machine's time
// and ours may be wrong, so it serves only where it may be true: not in the future, and once we watch not before the
// last Pass, where the node would have been seen already. So a clock that is wrong condemns nobody who has just come.
func (m *Monitor) age(created time.Time, at int64) (age int64, ok bool) {
	t := &m.listening.time
	if created.IsZero() || t.Of(created) > t.Elapsed() {
		return 0, false
	}
	age = steady.Sub(t.Elapsed(), t.Of(created))
	if m.listening.started {
		age = min(age, at-m.passed)
	}
	return age, true
}

// setObserved notes what the node says of itself, and its grace with it.
func (m *Monitor) setObserved(i int32, n *nodeRecord, status readiness) {
	if n.observed == status {
		return
	}
	switch readyMissing {
	case status:
		m.beats.setGrace(i, m.startup)
	case n.observed:
		m.beats.setGrace(i, m.beats.grace)
	}
	n.observed = status
	m.touch(i)
}

func (m *Monitor) beat(i int32, at int64) {
	if e := m.beats.entries.At(i); e.flagged {
		e.flagged = false
		m.records.At(i).expired = false
		m.touch(i)
	}
	m.beats.put(i, m.listening.note(at))
}

// ObserveRenewal notes the renewTime of a node's lease and says whether it was a sign of life: whether it differs from
// the last one, earlier or later. A node that is not known is ignored. O(1), without allocation.
func (m *Monitor) ObserveRenewal(node string, renewTime time.Time) bool {
	return m.ObserveRenewalAt(node, renewTime, m.clock.Now())
}

// ObserveRenewalAt is ObserveRenewal at a reading of the clock.
func (m *Monitor) ObserveRenewalAt(node string, renewTime, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok {
		return false
	}
	e := m.beats.entries.At(i)
	stamp := renewTime.UnixNano()
	return m.renew(i, stamp, stamp != e.stamp, now)
}

// ObserveLease is ObserveRenewal for a lease with its resourceVersion: an older one than the last seen is ignored, as a
// relist from a stale cache may bring it; the package comment says more.
func (m *Monitor) ObserveLease(node string, renewTime time.Time, resourceVersion string) bool {
	return m.ObserveLeaseAt(node, renewTime, resourceVersion, m.clock.Now())
}

// ObserveLeaseAt is ObserveLease at a reading of the clock.
func (m *Monitor) ObserveLeaseAt(node string, renewTime time.Time, resourceVersion string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok {
		return false
	}
	stamp := renewTime.UnixNano()
	believed, alive := m.leases.see(&m.records.At(i).lease, parseVersion(resourceVersion), stamp, m.beats.entries.At(i).stamp)
	return believed && m.renew(i, stamp, alive, now)
}

func (m *Monitor) renew(i int32, stamp int64, alive bool, now time.Time) bool {
	e := m.beats.entries.At(i)
	if e.stamp > stamp { // the only case in which what is not in reach needs to know
		v := &m.records.At(i).lease
		v.peak = max(v.peak, e.stamp)
	}
	e.stamp = stamp
	if alive {
		m.beat(i, m.listening.read(now))
	}
	return alive
}

// Handle returns the node's handle for ObserveRenewalHandle, which saves the look-up. It is valid until the node is
// forgotten or another identity takes its name.
func (m *Monitor) Handle(node string) (Handle, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	return Handle(i), ok
}

// ObserveRenewalHandle is ObserveRenewal by handle; false when the handle names no node.
func (m *Monitor) ObserveRenewalHandle(h Handle, renewTime time.Time) bool {
	return m.ObserveRenewalHandleAt(h, renewTime, m.clock.Now())
}

// ObserveRenewalHandleAt is ObserveRenewalHandle at a reading of the clock.
func (m *Monitor) ObserveRenewalHandleAt(h Handle, renewTime, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.beats.entries.Has(int32(h)) {
		return false
	}
	stamp := renewTime.UnixNano()
	return m.renew(int32(h), stamp, stamp != m.beats.entries.At(int32(h)).stamp, now)
}
