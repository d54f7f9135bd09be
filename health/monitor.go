package health

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// monitored is a node.
type monitored = entry[nodeRecord]

// nodeRecord is what is kept for a node beside its beats. Times are listened time.
type nodeRecord struct {
	renewal    int64 // the lease's renewTime that came last, noStamp if none did
	lease      version
	observed   readiness
	known      bool // a verdict was given
	expired    bool
	doubted    bool    // its silence waits for Confirm
	turned     bool    // its LastTransitionTime has changed since the last verdict
	news       bool    // the next Pass returns it even if its verdict is as before
	told       told    // by the last verdict
	node       version // of the node's object; the stamp is the heartbeat of its Ready condition
	name       string
	uid        string
	heartbeat  int64 // stamp of the Ready condition
	transition int64 // its LastTransitionTime, only compared for change
	since      int64 // when judged last changed
	watched    int64 // when we began to watch it
	changed    int   // its place in Monitor.changed plus one; 0 if it is not there
}

// Monitor decides which nodes are alive, from their status reports and leases. Most callers want [Monitor.ObserveNode]
// and [Monitor.ObserveLease] first, for what arrives, then [Monitor.Pass] for the verdicts that changed and
// [Monitor.Next] for when to call it again.
//
// All methods are safe for concurrent use. All methods but Verdict, Settles, Freeze, Forget, Blind and Len read the
// clock, and so listen. A method whose name ends in At takes the reading as an argument instead. Memory is bounded by
// the nodes that were observed and not forgotten, and shrinks as they are forgotten.
type Monitor struct {
	config Config
	clock  clock.PassiveClock

	mu        sync.Mutex // guards what follows
	listening listening
	beats     beats[nodeRecord]
	grace     int64 // as it is compared
	startup   int64 // the same for nodes without a Ready condition
	nodes     due.Map[string, monitored]
	changed   []*monitored // the nodes that the next Pass returns
	objects   epochs
	leases    epochs
	passed    int64 // listened time of the last Pass
	anew      int64 // when all clocks last started again: first Pass, restart or loss; failed nodes wait for one grace after it
	lossAt    int64 // the last loss that restarted them
	blind     uint64
	frozen    []string
}

// NewMonitor returns an empty monitor, or an error with all faults of the configuration.
func NewMonitor(config Config) (*Monitor, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	// On the grid, silence must be strictly longer than the grace, as in kube-controller-manager.
	strict := time.Duration(0)
	if config.NodeMonitorPeriod > 0 {
		strict = 1
	}
	m := &Monitor{
		config: config, clock: clockOr(config.Clock),
		grace: steady.Add(int64(config.NodeMonitorGracePeriod), strict), startup: steady.Add(int64(config.NodeStartupGracePeriod), strict),
		lossAt: math.MinInt64,
	}
	m.listening = newListening(config, m.due)
	return m, nil
}

// now reads the clock.
func (m *Monitor) now() time.Time {
	if m.clock == nil {
		panic(unmade) //nolint:forbidigo // a bug of the caller's
	}
	return m.clock.Now()
}

const unmade = "health: a zero value was used: make one with NewMonitor or NewDeadlines"

// Pass decides, and returns in the order of the nodes' names: the verdicts of new nodes, those that changed in more
// than LastBeat, and those of nodes that it finds silent for a whole grace period (once more after all clocks have
// restarted). It does not return a verdict only because a restart moved its Since. Call it at the instants that Next
// returns. A late Pass only delays verdicts: one that has missed slots condemns only the nodes whose grace period ended
// before the slot of the previous Pass. While the monitor is frozen, Pass returns nothing. Its cost grows with what
// expired and changed, plus O(log n) for each node once in a grace period.
func (m *Monitor) Pass() []Verdict { return m.PassAt(m.now()) }

// PassAt is Pass at a reading of the clock.
func (m *Monitor) PassAt(now time.Time) []Verdict {
	verdicts := m.pass(now)
	slices.SortFunc(verdicts, func(a, b Verdict) int { return strings.Compare(a.Node, b.Node) })
	return verdicts
}

func (m *Monitor) pass(now time.Time) []Verdict {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.listening.started {
		m.begin(m.listening.read(now))
	}
	at, by, loss := m.listening.pass(now)
	m.passed = at
	if len(m.frozen) > 0 {
		return nil
	}
	if loss && m.restarts(at) {
		m.blind++
		m.lossAt = at
		m.restart(at)
	}
	for e := m.beats.expire(by); e != nil; e = m.beats.expire(by) {
		e.of.doubted, e.of.news = m.config.Confirm, true
		e.of.expired = e.of.expired || !e.of.doubted
		m.touch(e)
	}
	return m.tell(at)
}

// tell gives the verdicts of the nodes that may have changed, and returns those that have.
func (m *Monitor) tell(at int64) []Verdict {
	if len(m.changed) == 0 {
		return nil
	}
	verdicts := make([]Verdict, 0, len(m.changed))
	for _, e := range m.changed {
		e.of.changed = 0
		if m.judge(e, at) {
			verdicts = append(verdicts, m.verdict(e))
		}
	}
	clear(m.changed)
	if cap(m.changed) > mostChanged {
		m.changed = nil
	}
	m.changed = m.changed[:0]
	return verdicts
}

// told is what makes one verdict differ from another.
type told struct {
	observed, judged readiness
	expired, doubted bool
}

// judge gives the node's verdict, and says whether it is news.
func (m *Monitor) judge(e *monitored, at int64) (news bool) {
	n := &e.of
	now := told{n.observed, n.observed, n.expired, n.doubted}
	if n.expired {
		now.judged = readyUnknown
	}
	turned := n.turned && !n.expired
	news = n.news || turned || now != n.told
	if turned || n.known && now.judged != n.told.judged {
		n.since = at
	}
	n.told, n.known, n.turned, n.news = now, true, false, false
	return news
}

// mostChanged is the largest capacity that changed keeps between passes.
const mostChanged = 1024

// begin is part of the first Pass: all clocks start with it, whatever was observed before.
func (m *Monitor) begin(at int64) {
	m.listening.started, m.listening.passed = true, m.listening.time.Elapsed()
	for _, e := range m.nodes.All() {
		e.of.watched = at
	}
	m.restart(at)
}

// due returns the listened time at which the next node is due, MaxInt64 if none is.
func (m *Monitor) due() int64 {
	if e := m.beats.earliest(); e != nil {
		return e.due
	}
	return math.MaxInt64
}

func (m *Monitor) touch(e *monitored) {
	if e.of.changed == 0 {
		m.changed = append(m.changed, e)
		e.of.changed = len(m.changed)
	}
}

// untouch removes the node from those that have changed.
func (m *Monitor) untouch(n *nodeRecord) {
	if n.changed == 0 {
		return
	}
	last := len(m.changed) - 1
	moved := m.changed[last]
	m.changed[n.changed-1] = moved
	moved.of.changed = n.changed
	m.changed[last] = nil
	m.changed = m.changed[:last]
	n.changed = 0
}

// Next returns when to call Pass next. Before the first Pass that is now. On the grid it is the next slot. In exact
// mode it is the next deadline, or the time of the last Pass if an observation may have changed something or a gap may
// restart all clocks. It returns false if there is none, and while the monitor is frozen. The instant may lie in the
// past.
func (m *Monitor) Next() (time.Time, bool) { return m.NextAt(m.now()) }

// NextAt is Next at a reading of the clock.
func (m *Monitor) NextAt(now time.Time) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	switch {
	case !m.listening.started:
		return m.listening.instant(at), true
	case m.listening.grid():
		return m.listening.next(), true
	case len(m.frozen) > 0:
		return time.Time{}, false
	case len(m.changed) > 0 || m.listening.losing():
		return m.listening.instant(m.passed), true
	}
	e := m.beats.earliest()
	if e == nil {
		return time.Time{}, false
	}
	return m.listening.instant(e.due), true
}

// Forget drops a node and reports whether it did. With a UID it drops only the node with that UID, so that a late event
// about a deleted node cannot drop its successor of the same name. An empty UID, given or known, matches any. O(log n).
func (m *Monitor) Forget(node string, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.nodes.Get(node)
	if e == nil || differ(e.of.uid, string(uid)) {
		return false
	}
	m.forget(e)
	return true
}

// differ reports whether two identities differ. An empty one matches any.
func differ(a, b string) bool { return a != b && a != "" && b != "" }

func (m *Monitor) forget(e *monitored) {
	m.untouch(&e.of)
	m.objects.forget(&e.of.node)
	m.leases.forget(&e.of.lease)
	m.beats.remove(e)
	m.nodes.Delete(e.of.name, e)
}

// Len returns the number of nodes. O(1).
func (m *Monitor) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nodes.Len()
}
