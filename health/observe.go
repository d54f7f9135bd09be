package health

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/steady"
)

// Observation says what ObserveNode saw.
type Observation struct {
	// Heartbeat: it is a sign of life.
	Heartbeat bool
	// Stale: the object is older than one seen before, so the monitor ignored all of it.
	Stale bool
}

// ObserveNode notes what a node reports, without keeping the object. It is a sign of life if the node is new, or if
// the heartbeat time of a Ready True or False differs, earlier or later, from that of the last sign of life or the
// node's first object. It ignores old objects, see above. An object with another UID than the known one is a new node:
// everything but its lease starts afresh, but if it shows no version the known one stays. An empty UID, given or known,
// is the same node; a given one is kept.
func (m *Monitor) ObserveNode(node *v1.Node) Observation {
	m.lock()
	defer m.guard.Unlock()
	if node == nil {
		panic("health: ObserveNode was given no node: it is nil") //nolint:forbidigo // a bug of the caller's
	}
	e := m.nodes.Get(node.Name)
	if e == nil {
		e = m.nodes.Add(node.Name)
		e.of = nodeRecord{lease: version{peak: noStamp}, renewal: noStamp}
		m.beats.join(e, m.grace.grace)
		return m.watch(e, node)
	}
	return m.observe(e, node)
}

// observe notes an object of a known name.
func (m *Monitor) observe(e *monitored, node *v1.Node) Observation {
	n := &e.of
	status, stamp, transition := reported(node)
	reports, other := status == readyTrue || status == readyFalse, differ(n.uid, string(node.UID))
	if !reports || other { // no kubelet writes Unknown
		stamp = noStamp
	}
	believed, alive := n.object.see(parseVersion(node.ResourceVersion), stamp, n.heartbeat, m.now(), m.grace.grace)
	switch {
	case !believed:
		return Observation{Stale: true}
	case other:
		return m.watch(e, node)
	}
	if n.uid == "" && node.UID != "" {
		n.uid, n.news = string(node.UID), true
		m.touch(e)
	}
	changed, heartbeat := reports && n.observed != status, reports && alive
	if n.observed != status {
		n.observed, n.spoke = status, n.spoke || changed && n.known
		if grace := m.graceFor(status); !n.expired || grace < e.group.grace { // what others write of its silence does not end it
			m.beats.setGrace(e, grace)
		}
		m.touch(e)
	}
	if transition != n.transition && (heartbeat || changed) {
		n.transition, n.turned = transition, true
		m.touch(e)
	}
	if heartbeat {
		n.heartbeat = stamp
		m.beat(e)
	}
	return Observation{Heartbeat: heartbeat}
}

// reported returns a node's Ready condition: its status, and the times that the node wrote with it.
func reported(node *v1.Node) (status readiness, heartbeat, transition int64) {
	ready := find(node, v1.NodeReady)
	if ready == nil {
		return readyMissing, noStamp, noStamp
	}
	return readinessOf(ready.Status), ready.LastHeartbeatTime.UnixNano(), ready.LastTransitionTime.UnixNano()
}

// watch begins to watch a node, perhaps in place of one of the same name, which leaves it the lease and, if this object
// shows no version, its own.
func (m *Monitor) watch(e *monitored, node *v1.Node) Observation {
	n, now := &e.of, m.now()
	*n = nodeRecord{
		name: node.Name, uid: string(node.UID), watched: now, since: now, lease: n.lease, renewal: n.renewal,
		object: version{number: cmp.Or(parseVersion(node.ResourceVersion), n.object.number), peak: noStamp},
		news:   true, heard: n.heard, changed: n.changed,
	}
	n.observed, n.heartbeat, n.transition = reported(node)
	m.beats.setGrace(e, m.graceFor(n.observed))
	m.touch(e)
	if age, ok := m.age(node.CreationTimestamp.Time); ok && n.observed == readyMissing {
		n.heard, n.since = false, steady.Sub(now, age)
		m.beats.put(e, steady.Sub(m.beats.heard(e.group), age))
	} else {
		m.beat(e)
	}
	return Observation{Heartbeat: true}
}

// age returns how old a node is when it is first seen, in time that counts. Its creation is another machine's time, and
// our clock may be wrong too. So a creation in the future does not count, and the node is no older than the last Pass,
// which would have seen it. So a wrong clock condemns no newcomer. Before the first Pass, with which all clocks start,
// there is no age.
func (m *Monitor) age(created time.Time) (age int64, ok bool) {
	age = steady.Sub(m.beats.now, m.guard.Time.Of(created))
	return min(age, m.now()-m.passed), m.started && !created.IsZero() && age >= 0
}

// graceFor returns the grace of a node that reports this, as it is compared.
func (m *Monitor) graceFor(status readiness) int64 {
	if status == readyMissing {
		return m.startup.grace
	}
	return m.grace.grace
}

// beat notes a sign of life.
func (m *Monitor) beat(e *monitored) {
	if e.of.expired || !e.of.spoke && e.of.told.judged == readyFalse { // the latter settles
		m.touch(e)
	}
	e.of.expired, e.of.spoke = false, e.of.known
	m.beats.setGrace(e, m.graceFor(e.of.observed))
	if e.of.heard = !m.started || m.beats.period > 0; e.of.heard {
		m.touch(e)
	} else {
		m.beats.beatNow(e)
	}
}

// ObserveLease notes the renewTime of a node's lease, and reports whether it was a sign of life: whether it differs
// from the last one that was, earlier or later. A zero time is a time like any other. It ignores an unknown node,
// and old leases, see above. The resourceVersion may be empty. O(1), no allocation.
func (m *Monitor) ObserveLease(node string, renewTime time.Time, resourceVersion string) bool {
	number := parseVersion(resourceVersion)
	m.lock()
	defer m.guard.Unlock()
	e := m.nodes.Get(node)
	if e == nil {
		return false
	}
	n, stamp := &e.of, renewTime.UnixNano()
	believed, alive := n.lease.see(number, stamp, n.renewal, m.now(), m.grace.grace)
	if believed && alive {
		n.renewal = stamp
		m.beat(e)
	}
	return believed && alive
}
