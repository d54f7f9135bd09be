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
	since        int64
	watched      int64 // when we began to watch it, or its clock started anew
	observed     readiness
	judged       readiness
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
	anew     int64 // when all clocks last started anew
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
	case m.late(now):
		m.blind++
		m.restart(now)
	}
	m.lastPass = now
	if len(m.frozen) > 0 {
		return nil
	}
	for i := m.beats.expired(now); i != none; i = m.beats.expired(now) {
		m.nodes[i].expired, m.nodes[i].confirmed = true, true
		m.beats.entries[i].flagged = true
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
	m.started, m.origin, m.anew = true, now, now
	for i := range m.nodes {
		if n := &m.nodes[i]; m.beats.entries[i].used {
			n.watched = now
			if n.observed != readyMissing || m.beats.entries[i].stamped {
				n.since = now
				m.beats.put(int32(i), m.beats.entries[i].list, now)
			}
		}
	}
}

// Late says whether a Pass now would come so late that it lets all clocks start anew. What would harm a node because
// of a verdict waits for that Pass.
func (m *Monitor) Late() bool {
	now := m.time.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.late(m.time.at(now))
}

// late says whether a Pass now comes so late that silence may be ours.
func (m *Monitor) late(now int64) bool {
	if !m.started || len(m.frozen) > 0 {
		return false
	}
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
