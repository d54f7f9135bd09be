package health

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/keyindex"
)

// Verdict is what the monitor says of a node, as of the last Pass.
type Verdict struct {
	Node string
	UID  types.UID
	// Observed is the node's Ready status as its object says, Ready the same after the rules: Unknown
	// when the node has been silent for too long. Empty means that it has no Ready condition, which
	// counts as not ready.
	Observed, Ready v1.ConditionStatus
	// New: this is the first verdict about this node.
	New bool
	// Expired: no heartbeat was seen for a whole grace period; UnknownConditions says what to write.
	Expired bool
	// Since is when Ready last changed, LastBeat when the last sign of life was noted; both by our own
	// clock (a node that never reported starts with its creation).
	Since, LastBeat time.Time
	Grace           time.Duration
}

// Observation says what an observation brought.
type Observation struct {
	// New: the node, or this identity of it, was not known.
	New bool
	// Heartbeat: it is a sign of life.
	Heartbeat bool
	// Stale: the object is older than the one seen before and was ignored in whole.
	Stale bool
}

type readiness uint8

const (
	readyMissing readiness = iota
	readyTrue
	readyFalse
	readyUnknown
)

func readinessOf(s v1.ConditionStatus) readiness {
	switch s {
	case v1.ConditionTrue:
		return readyTrue
	case v1.ConditionFalse:
		return readyFalse
	default:
		return readyUnknown
	}
}

var readinessStatus = [...]v1.ConditionStatus{"", v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown}

// nodeRecord is what is kept of a node beside its entry in beats; times are those of steady.
type nodeRecord struct {
	name, uid    string
	version      string // resourceVersion of the node last seen
	leaseVersion string
	heartbeat    int64 // stamp of the Ready condition; only compared for change
	transition   int64 // its LastTransitionTime, likewise
	lease        int64 // renewTime, likewise
	since        int64
	watched      int64 // when we began to watch it, or its clock started anew
	observed     readiness
	judged       readiness
	leaseSeen    bool
	known        bool // a verdict was given
	expired      bool
	confirmed    bool // a whole grace period passed without heartbeat since watched
	touched      bool // in Monitor.changed
}

// Monitor tells which nodes are alive, from their status reports and leases. All methods are safe for
// concurrent use. Its memory is bounded by the nodes that were observed and not forgotten.
type Monitor struct {
	config Config

	mu       sync.Mutex // guards what follows
	time     steady
	beats    beats
	running  int16                  // list of nodes that have reported
	startup  int16                  // list of those that have no Ready condition
	index    keyindex.Index[string] // numbers nodes and the entries of beats
	nodes    []nodeRecord
	changed  []int32
	started  bool // the first Pass was made, and origin is set
	origin   int64
	lastPass int64
	inserted int64 // when a node was last added: nothing was promised before
	blind    uint64
	frozen   []string
}

// NewMonitor returns an empty monitor, or the faults of the configuration.
func NewMonitor(config Config) (*Monitor, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	m := &Monitor{config: config, time: newSteady(config.Clock)}
	// On the grid a node is silent for too long strictly after its grace, as upstream has it.
	strict := int64(0)
	if config.NodeMonitorPeriod > 0 {
		strict = 1
	}
	m.running = m.beats.listOf(int64(config.NodeMonitorGracePeriod) + strict)
	m.beats.lists = append(m.beats.lists, list{grace: int64(config.NodeStartupGracePeriod) + strict, head: none, tail: none})
	m.startup = m.running + 1
	return m, nil
}

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
// from the last one, earlier or later, is a sign of life; it is compared with nothing else. An object
// whose resourceVersion is older than the last one seen of the same node is ignored.
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
	if n.observed == readyMissing {
		n.observed = status
		m.relist(i)
		m.touch(i)
	} else if n.observed != status {
		n.observed = status
		m.touch(i)
	}
	stamp := ready.LastHeartbeatTime.UnixNano()
	if n.heartbeat == stamp {
		return Observation{}
	}
	n.heartbeat = stamp
	if transition := ready.LastTransitionTime.UnixNano(); transition != n.transition {
		n.transition = transition
		n.since = m.note(now)
	}
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
	n := &m.nodes[i]
	if n.expired || n.confirmed {
		n.expired, n.confirmed = false, false
		m.touch(i)
	}
	m.beats.put(i, m.beats.entries[i].list, m.note(now))
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
	n := &m.nodes[i]
	stamp := renewTime.UnixNano()
	if n.leaseSeen && n.lease == stamp {
		return false
	}
	n.lease, n.leaseSeen = stamp, true
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

// Pass lets verdicts fall and returns those that changed since the last Pass, in the order of the
// nodes' names. On the grid it is to be called at the instants Next gives, in exact mode whenever Next
// has come. A Pass that comes later than Next asked for by more than a grace period finds that nobody
// watched: all clocks start anew, as by Restart, before anything is judged. While the monitor is
// frozen it returns nothing. It costs what expired and changed.
func (m *Monitor) Pass() []Verdict {
	clockNow := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.time.at(clockNow)
	switch {
	case !m.started:
		m.begin(now)
	case len(m.frozen) == 0 && m.late(now):
		m.blind++
		m.restart(now)
	}
	m.lastPass = now
	if len(m.frozen) > 0 {
		return nil
	}
	for i := m.beats.expired(now); i != none; i = m.beats.expired(now) {
		m.nodes[i].expired, m.nodes[i].confirmed = true, true
		m.touch(i)
	}
	if len(m.changed) == 0 {
		return nil
	}
	var verdicts []Verdict
	for _, i := range m.changed {
		n := &m.nodes[i]
		if !n.touched {
			continue // forgotten since
		}
		n.touched = false
		isNew := !n.known
		was := n.judged
		n.judged = n.observed
		if n.expired {
			n.judged = readyUnknown
		}
		if was != n.judged && !isNew {
			n.since = now
		}
		n.known = true
		v := m.verdict(i)
		v.New = isNew
		verdicts = append(verdicts, v)
	}
	m.changed = m.changed[:0]
	slices.SortFunc(verdicts, func(a, b Verdict) int { return strings.Compare(a.Node, b.Node) })
	return verdicts
}

// begin sets the origin of the grid: what was observed before the first Pass is noted at it.
func (m *Monitor) begin(now int64) {
	m.started, m.origin = true, now
	for i := range m.nodes {
		if n := &m.nodes[i]; m.beats.entries[i].used {
			n.watched = now
			if n.observed != readyMissing || n.leaseSeen {
				n.since = now
				m.beats.put(int32(i), m.beats.entries[i].list, now)
			}
		}
	}
}

// late says whether this Pass comes so late that silence may be ours.
func (m *Monitor) late(now int64) bool {
	promised := max(m.lastPass+int64(m.config.NodeMonitorPeriod), m.inserted)
	if m.config.NodeMonitorPeriod == 0 {
		deadline, ok := m.beats.next()
		if !ok {
			return false
		}
		promised = max(promised, deadline)
	}
	return now > sum(promised, int64(m.config.NodeMonitorGracePeriod))
}

func (m *Monitor) verdict(i int32) Verdict {
	n := &m.nodes[i]
	e := &m.beats.entries[i]
	grace := m.config.NodeMonitorGracePeriod
	if e.list == m.startup {
		grace = m.config.NodeStartupGracePeriod
	}
	return Verdict{
		Node: n.name, UID: types.UID(n.uid),
		Observed: readinessStatus[n.observed], Ready: readinessStatus[n.judged], Expired: n.expired,
		Since: m.time.time(n.since), LastBeat: m.time.time(e.beat), Grace: grace,
	}
}

// Verdict returns the node's verdict as of the last Pass; false when there is none yet. LastBeat may be
// newer.
func (m *Monitor) Verdict(node string) (Verdict, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.index.Find(node)
	if !ok || !m.nodes[i].known {
		return Verdict{}, false
	}
	return m.verdict(i), true
}

// Next is when Pass next has something to say. On the grid that is the next pass; in exact mode it is
// at once when an observation changed something, else the next deadline, and false when there is none.
// Before the first Pass it is now.
func (m *Monitor) Next() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch period := int64(m.config.NodeMonitorPeriod); {
	case !m.started:
		return m.time.time(m.time.latest), true
	case period > 0:
		passed := (m.lastPass - m.origin) / period
		return m.time.time(m.origin + (passed+1)*period), true
	case len(m.changed) > 0 && len(m.frozen) == 0:
		return m.time.time(m.lastPass), true
	}
	n, ok := m.beats.next()
	if !ok || len(m.frozen) > 0 {
		return time.Time{}, false
	}
	return m.time.time(n), true
}
