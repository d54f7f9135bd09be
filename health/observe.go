package health

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/steady"
)

// Observation says what ObserveNode saw.
type Observation struct {
	// New: the node was not known, or not with this UID.
	New bool
	// Heartbeat: it is a sign of life.
	Heartbeat bool
	// Stale: the object is older than one seen before, so the monitor ignored all of it.
	Stale bool
}

// ObserveNode notes what a node reports, and keeps nothing of the object. It is a sign of life if the node is new, if
// the heartbeat time differs from the last one, earlier or later, or if Ready is True or False and there was no Ready
// status before. ObserveNode compares heartbeat times with nothing else. It ignores an object with an older
// resourceVersion than one seen before; "Old objects seen again" in the package comment has the exact rule. An object
// with another UID than the known one is a new node: everything but its lease starts afresh.
func (m *Monitor) ObserveNode(node *v1.Node) Observation { return m.ObserveNodeAt(node, m.now()) }

// ObserveNodeAt is ObserveNode at a reading of the clock.
func (m *Monitor) ObserveNodeAt(node *v1.Node, now time.Time) Observation {
	return m.observeReport(reportOf(node), now)
}

func (m *Monitor) observeReport(r report, now time.Time) Observation {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(r.Node)
	at := m.listening.read(now)
	if e == nil {
		e = m.nodes.Add(r.Node)
		e.of = nodeRecord{node: version{peak: noStamp}, lease: version{peak: noStamp}, renewal: noStamp}
		return m.watch(e, r, at)
	}
	return m.observe(e, r, at)
}

func (m *Monitor) observe(e *monitored, r report, at int64) Observation {
	n := &e.of
	status, stamp := readinessOf(r.Ready), int64(noStamp)
	if status != readyMissing {
		stamp = r.Heartbeat.UnixNano()
	}
	number := parseVersion(r.ResourceVersion)
	if differ(n.uid, string(r.UID)) {
		if number != 0 && n.node.epoch == m.objects.number && number < n.node.number {
			return Observation{Stale: true}
		}
		return m.watch(e, r, at)
	}
	believed, alive := m.objects.see(&n.node, number, stamp, n.heartbeat)
	if !believed {
		return Observation{Stale: true}
	}
	if n.uid == "" && r.UID != "" {
		n.uid, n.news = string(r.UID), true
		m.touch(e)
	}
	if status == readyMissing {
		m.setObserved(e, readyMissing)
		return Observation{}
	}
	theirs := status != readyUnknown // Unknown is what we write ourselves
	changed := theirs && n.observed != status
	heartbeat := alive || changed && n.observed == readyMissing
	m.setObserved(e, status)
	if transition := r.Transition.UnixNano(); transition != n.transition && (heartbeat || changed) {
		n.transition, n.turned = transition, true
		m.touch(e)
	}
	n.heartbeat = stamp
	if heartbeat {
		m.beat(e, at)
	}
	return Observation{Heartbeat: heartbeat}
}

// watch begins to watch a node, perhaps in place of one of the same name, which leaves it the lease and, if this object
// shows no version, its own.
func (m *Monitor) watch(e *monitored, r report, at int64) Observation {
	n, noted := &e.of, m.listening.note(at)
	m.objects.forget(&n.node)
	number, epoch := parseVersion(r.ResourceVersion), m.objects.number
	if number == 0 {
		number, epoch = n.node.number, n.node.epoch
	}
	*n = nodeRecord{
		name: r.Node, uid: string(r.UID), watched: noted, observed: readinessOf(r.Ready),
		node: version{number: number, epoch: epoch, peak: noStamp}, lease: n.lease, renewal: n.renewal,
		heartbeat: r.Heartbeat.UnixNano(), transition: r.Transition.UnixNano(), news: true, changed: n.changed,
	}
	first := noted
	if n.observed == readyMissing {
		n.heartbeat = r.Created.UnixNano() // the heartbeat in the conditions that we write for such a node
		n.transition = n.heartbeat
		if age, ok := m.age(r.Created, at); ok {
			first = steady.Sub(at, age)
		}
	}
	n.since, e.grace = first, m.graceFor(n.observed)
	m.beats.put(e, first)
	m.touch(e)
	return Observation{New: true, Heartbeat: true}
}

// age returns how old a node is when it is first seen, in listened time. Its creation is another machine's time, and our
// clock may be wrong too. So a creation in the future does not count, and the node is no older than the last Pass, which
// would have seen it. So a wrong clock condemns no newcomer. Before the first Pass, with which all clocks start, there is
// no age.
func (m *Monitor) age(created time.Time, at int64) (age int64, ok bool) {
	t := &m.listening.time
	if !m.listening.started || created.IsZero() || t.Of(created) > t.Elapsed() {
		return 0, false
	}
	return min(steady.Sub(t.Elapsed(), t.Of(created)), at-m.passed), true
}

// setObserved notes the status that the node reports, and the grace that goes with it.
func (m *Monitor) setObserved(e *monitored, status readiness) {
	if e.of.observed == status {
		return
	}
	e.of.observed = status
	m.beats.setGrace(e, m.graceFor(status))
	m.touch(e)
}

// graceFor returns the grace of a node that reports this, as it is compared.
func (m *Monitor) graceFor(status readiness) int64 {
	if status == readyMissing {
		return m.startup
	}
	return m.grace
}

func (m *Monitor) beat(e *monitored, at int64) {
	if e.of.expired || e.of.doubted {
		e.of.expired, e.of.doubted = false, false
		m.touch(e)
	}
	m.beats.put(e, m.listening.note(at))
}

// ObserveRenewal notes the renewTime of a node's lease, and reports whether it was a sign of life: whether it differs
// from the last one, earlier or later. A zero time is a time like any other. ObserveRenewal ignores an unknown node.
// O(1), without allocation.
func (m *Monitor) ObserveRenewal(node string, renewTime time.Time) bool {
	return m.observeRenewalAt(node, renewTime, m.now())
}

// observeRenewalAt is ObserveRenewal at a reading of the clock.
func (m *Monitor) observeRenewalAt(node string, renewTime, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	e := m.nodes.Get(node)
	if e == nil {
		return false
	}
	stamp := renewTime.UnixNano()
	return m.renew(e, stamp, stamp != e.of.renewal, at)
}

// ObserveLease is ObserveRenewal with the lease's resourceVersion. It ignores a lease older than one seen before, as a
// relist from a stale cache may show it; "Old objects seen again" in the package comment has the exact rule.
func (m *Monitor) ObserveLease(node string, renewTime time.Time, resourceVersion string) bool {
	return m.ObserveLeaseAt(node, renewTime, resourceVersion, m.now())
}

// ObserveLeaseAt is ObserveLease at a reading of the clock.
func (m *Monitor) ObserveLeaseAt(node string, renewTime time.Time, resourceVersion string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	e := m.nodes.Get(node)
	if e == nil {
		return false
	}
	stamp := renewTime.UnixNano()
	believed, alive := m.leases.see(&e.of.lease, parseVersion(resourceVersion), stamp, e.of.renewal)
	return believed && m.renew(e, stamp, alive, at)
}

func (m *Monitor) renew(e *monitored, stamp int64, alive bool, at int64) bool {
	n := &e.of
	n.lease.peak = max(n.lease.peak, n.renewal)
	n.renewal = stamp
	if alive {
		m.beat(e, at)
	}
	return alive
}
