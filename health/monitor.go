package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/due"
	"github.com/evictkit/evictkit/internal/steady"
)

// monitored is a node.
type monitored = entry[nodeRecord]

// nodeRecord is what is kept for a node beside its beats. Times are what counted for the monitor's grace period. What a
// renewal needs comes first, in one line of the processor's cache.
type nodeRecord struct {
	observed   readiness
	known      bool // a verdict was given
	expired    bool
	heard      bool  // a sign of life waits to be dated by the next Pass
	spoke      bool  // it gave a sign of life since the first verdict or the restart of all clocks
	turned     bool  // its LastTransitionTime has changed since the last verdict
	news       bool  // the next Pass returns it even if its verdict is as before
	told       told  // by the last verdict
	changed    int32 // its place in Monitor.changed plus one; 0 if it is not there
	renewal    int64 // the lease's renewTime that came last, noStamp if none did
	lease      version
	object     version // the stamp is the heartbeat of its Ready condition
	name       string
	uid        string
	heartbeat  int64 // stamp of the Ready condition
	transition int64 // its LastTransitionTime, only compared for change
	since      int64 // when judged last changed
	watched    int64 // when we began to watch it
}

// Monitor decides which nodes are alive. Most callers want [Monitor.ObserveNode] and [Monitor.ObserveLease] first, for
// what arrives, then [Monitor.Pass] for verdicts that changed and [Monitor.Next] for when to call it again.
type Monitor struct {
	config Config

	guard   steady.Guard // guards what follows
	beats   beats[nodeRecord]
	grace   *group[nodeRecord] // of nodes that have reported
	startup *group[nodeRecord] // of those that have not
	strict  int64              // with a period, as in kube-controller-manager, silence must be longer than a grace period by something
	nodes   due.Map[string, monitored]
	changed []*monitored // the nodes at which the next Pass must look
	started bool         // the first Pass was made
	passed  int64        // when the last Pass was, as the times in nodeRecord
	anew    int64        // when all clocks last started again; failed nodes wait for one grace after it
	frozen  bool
}

// NewMonitor returns an empty monitor, or all faults of the configuration.
func NewMonitor(config Config) (*Monitor, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	m := &Monitor{config: config, strict: min(int64(config.NodeMonitorPeriod), 1)}
	m.guard.Clock = clockOr(config.Clock)
	m.beats.period, m.beats.maxGap = int64(config.NodeMonitorPeriod), int64(config.MaxGap)
	m.grace, m.startup = m.beats.of(int64(config.NodeMonitorGracePeriod)), m.beats.of(int64(config.NodeStartupGracePeriod))
	m.grace.size, m.startup.size = 1, 1 // so that they stay even if no node is in them
	return m, nil
}

// lock takes the mutex and reads the clock.
func (m *Monitor) lock() { m.beats.listen(m.guard.Read()) }

// now is the time that counted so far.
func (m *Monitor) now() int64 { return m.beats.heard(m.grace) }

// instant returns what the clock showed at that time, or will show if all time until then counts.
func (m *Monitor) instant(at int64) time.Time {
	return m.guard.Time.Instant(steady.Add(at, time.Duration(m.grace.lost)))
}

// Pass decides, and returns in the order of the nodes' names: the verdicts of new nodes, those that changed in more
// than LastBeat, and those of nodes that it finds silent for a whole grace period, once more after a Restart. That a
// restart moved Since is no change. While the monitor is frozen, Pass dates heartbeats, but returns nothing.
func (m *Monitor) Pass() []Verdict {
	verdicts := m.pass()
	slices.SortFunc(verdicts, func(a, b Verdict) int { return strings.Compare(a.Node, b.Node) })
	return verdicts
}

func (m *Monitor) pass() []Verdict {
	m.lock()
	defer m.guard.Unlock()
	m.passed = m.now()
	if !m.started {
		m.started, m.anew = true, m.passed
	}
	for _, e := range m.changed {
		if e.of.heard {
			e.of.heard = false
			m.beats.beatNow(e)
		}
	}
	if m.frozen {
		return nil
	}
	by := m.beats.now - m.strict
	for e := m.beats.expire(by); e != nil; e = m.beats.expire(by) {
		e.of.expired, e.of.news = true, true
		m.touch(e)
	}
	return m.tell()
}

// tell gives the verdicts of the nodes that may have changed, and returns those that have.
func (m *Monitor) tell() (verdicts []Verdict) {
	for _, e := range m.changed {
		e.of.changed = 0
		if m.judge(&e.of) {
			verdicts = append(verdicts, m.verdict(e))
		}
	}
	clear(m.changed)
	if cap(m.changed) > 1024 {
		m.changed = nil
	}
	m.changed = m.changed[:0]
	return verdicts
}

// told is what makes one verdict differ from another.
type told struct {
	observed, judged readiness
	expired          bool
}

// judge gives the node's verdict, and says whether it is news.
func (m *Monitor) judge(n *nodeRecord) (news bool) {
	now := told{n.observed, n.observed, n.expired}
	if n.expired {
		now.judged = readyUnknown
	}
	turned := n.turned && !n.expired
	news = n.news || turned || now != n.told
	if n.since = max(n.since, m.anew); turned || n.known && now.judged != n.told.judged {
		n.since = m.passed
	}
	n.told, n.known, n.turned, n.news = now, true, false, false
	return news
}

func (m *Monitor) touch(e *monitored) {
	if e.of.changed == 0 {
		m.changed = append(m.changed, e)
		e.of.changed = int32(len(m.changed))
	}
}

// untouch removes the node from those that have changed.
func (m *Monitor) untouch(n *nodeRecord) {
	if last := len(m.changed) - 1; n.changed > 0 {
		m.changed[n.changed-1] = m.changed[last]
		m.changed[last].of.changed = n.changed
		m.changed = slices.Delete(m.changed, last, last+1)
		n.changed = 0
	}
}

// Next returns when to call Pass. The first is due at once, even when frozen. With a NodeMonitorPeriod the next is due
// one period after the last. Without one it is due at the next end of a grace period, or half a MaxGap from now if that
// is sooner; or at the last Pass, if an observation may have changed something. Then Next returns false if no node can
// fall silent, and while the monitor is frozen. The instant may lie in the past.
func (m *Monitor) Next() (time.Time, bool) {
	m.lock()
	defer m.guard.Unlock()
	switch {
	case !m.started:
		return m.instant(m.passed), true
	case m.beats.period > 0:
		return m.instant(steady.Add(m.passed, m.config.NodeMonitorPeriod)), true
	case m.frozen:
		return time.Time{}, false
	case len(m.changed) > 0:
		return m.instant(m.passed), true
	}
	at, ok := m.beats.next()
	if !ok {
		return time.Time{}, false
	}
	return m.guard.Time.Instant(at), true
}

// Silent returns the nodes that will have been silent for their whole grace period at an instant, unless they give a
// sign of life until then: read their leases live, because events may have got lost. It leaves out those whose sign of
// life waits for a Pass, and those that a Pass has found silent, until their next sign of life. While the monitor is
// frozen, it returns nothing.
func (m *Monitor) Silent(by time.Time) (nodes []string) {
	m.lock()
	defer m.guard.Unlock()
	if m.frozen {
		return nil
	}
	for _, e := range m.beats.until(m.guard.Time.Of(by)) {
		if !e.of.heard && !e.of.expired {
			nodes = append(nodes, e.of.name)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// Restart begins all grace periods anew, as if each node gave a sign of life now. It is for a program that could not
// see. A node that was Unknown stays Unknown until its next sign of life, and settles only a grace later.
func (m *Monitor) Restart() {
	m.lock()
	defer m.guard.Unlock()
	m.restart()
}

func (m *Monitor) restart() {
	m.anew = m.now()
	for _, e := range m.nodes.All() {
		e.of.since, e.of.heard, e.of.spoke = m.anew, false, false
		m.beats.beatNow(e)
	}
}

// Freeze stops verdicts until Thaw. The monitor still notes observations.
func (m *Monitor) Freeze() {
	m.guard.Lock()
	defer m.guard.Unlock()
	m.frozen = true
}

// Thaw ends a Freeze as Restart does. Without a Freeze it does nothing.
func (m *Monitor) Thaw() {
	m.lock()
	defer m.guard.Unlock()
	if m.frozen {
		m.frozen = false
		m.restart()
	}
}

// Forget drops a node and reports whether it did. With a UID it drops only the node with that UID, not its successor of
// the same name. An empty UID, given or known, matches any.
func (m *Monitor) Forget(node string, uid types.UID) bool {
	m.guard.Lock()
	defer m.guard.Unlock()
	e := m.nodes.Get(node)
	if e == nil || differ(e.of.uid, string(uid)) {
		return false
	}
	m.untouch(&e.of)
	m.beats.leave(e)
	m.nodes.Delete(e.of.name, e)
	return true
}

// differ reports whether two identities differ. An empty one matches any.
func differ(a, b string) bool { return a != b && a != "" && b != "" }
