package health

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// monitorModel is a Monitor that keeps no order, scans everything, and changes every node when all clocks start again.
type monitorModel struct {
	period, grace, startup time.Duration // the graces as they are compared
	slack                  time.Duration
	config                 Config

	elapsed time.Duration // by the rule of package steady
	started bool
	from    time.Duration
	heard   time.Duration
	looked  time.Duration // on the grid, elapsed time of the last Pass
	lost    bool
	gapAt   *time.Duration

	nodes        map[string]*modelNode
	passed, anew time.Duration
	rounds       int
	lossAt       *time.Duration
	blind        uint64
	frozen       []string
}

type modelNode struct {
	name, uid            string
	observed, judged     v1.ConditionStatus
	known, expired, out  bool
	doubted              bool // its silence is not confirmed
	turned, news         bool // its transition time has changed; it is told whatever its verdict
	changed              bool
	said                 string // by the last verdict
	beat, since, watched time.Duration
	heartbeat            int64
	transition           int64
	lease                *int64
	object, leases       modelVersions
}

// modelVersions keeps every stamp that it was shown.
type modelVersions struct {
	newest uint64
	fell   bool
	stamps []int64
}

func newMonitorModel(c Config) *monitorModel {
	m := &monitorModel{
		period: c.NodeMonitorPeriod, grace: c.NodeMonitorGracePeriod, startup: c.NodeStartupGracePeriod, slack: c.NodeMonitorGracePeriod / 4,
		config: c, nodes: map[string]*modelNode{},
	}
	if c.NodeMonitorPeriod > 0 {
		m.grace++
		m.startup++
	}
	return m
}

func (m *monitorModel) graceOf(n *modelNode) time.Duration {
	if n.observed == "" {
		return m.startup
	}
	return m.grace
}

func (m *monitorModel) grid() bool { return m.started && m.period > 0 }

// due returns the earliest deadline.
func (m *monitorModel) due() (due time.Duration, ok bool) {
	for _, n := range m.nodes {
		if at := n.beat + m.graceOf(n); !n.out && (!ok || at < due) {
			due, ok = at, true
		}
	}
	return due, ok
}

// call is a call that reads the clock.
func (m *monitorModel) call() time.Duration {
	gap := m.elapsed - m.from
	if m.grid() {
		return m.heard + min(gap, m.period)
	}
	if due, ok := m.due(); m.started && ok {
		if promised := max(due-m.heard, 0); gap > m.slack && float64(gap) > 1.2*float64(promised) {
			if gap > m.config.NodeMonitorGracePeriod {
				m.lost = true
			}
			first, heard := m.gapAt == nil || m.heard-*m.gapAt >= 2*m.config.NodeMonitorGracePeriod, m.heard
			if gap, m.gapAt = m.slack, &heard; first {
				gap = 0
			}
		}
	}
	m.heard += gap
	m.from = m.elapsed
	return m.heard
}

func (m *monitorModel) losing() bool {
	if m.grid() {
		return m.elapsed-m.looked-m.period > m.config.NodeMonitorGracePeriod
	}
	return m.lost
}

func (m *monitorModel) restarts(at time.Duration) bool {
	return m.lossAt == nil || at-*m.lossAt >= 2*max(m.grace, m.startup)
}

func (m *monitorModel) note(at time.Duration) time.Duration {
	if m.grid() && m.elapsed > m.from {
		return m.heard + m.period
	}
	return at
}

func (m *monitorModel) pass() (told []string) {
	at := m.call()
	if !m.started {
		m.started, m.anew = true, at
		m.from, m.heard, m.looked = m.elapsed, at, m.elapsed
		for _, n := range m.nodes {
			n.watched, n.since, n.beat = at, at, at
		}
	}
	loss := m.losing()
	m.lost, m.looked = false, m.elapsed
	over := at // by when a grace has to be over
	if m.grid() {
		before, slots := m.heard, 0
		for ; m.from+m.period <= m.elapsed; slots++ {
			m.from += m.period
			if slots == 0 {
				m.heard += m.period
			}
		}
		at = m.heard
		switch over = at; {
		case slots > 1:
			over = before
		case m.elapsed > m.from:
			over++
		}
	}
	m.passed = at
	if len(m.frozen) > 0 {
		return nil
	}
	if loss && m.restarts(at) {
		m.blind++
		m.lossAt = &at
		m.restartAt(at, at)
	}
	for _, n := range m.nodes {
		if !n.out && n.beat+m.graceOf(n) <= over {
			n.out, n.doubted, n.changed, n.news = true, m.config.Confirm, true, true
			n.expired = n.expired || !n.doubted
		}
		if !n.changed {
			continue
		}
		said, news := n.said, n.news || n.turned && !n.expired
		if m.judge(n, at); news || said != n.said {
			told = append(told, n.said)
		}
	}
	slices.Sort(told)
	return told
}

func (m *monitorModel) judge(n *modelNode, at time.Duration) {
	ready := n.observed
	if n.expired {
		ready = v1.ConditionUnknown
	}
	if n.known && ready != n.judged || n.turned && !n.expired {
		n.since = at
	}
	n.judged, n.known, n.changed, n.turned, n.news = ready, true, false, false, false
	n.said = n.told()
}

func (n *modelNode) suspect() bool { return n.doubted }

// told is what makes a verdict differ from another, and the name.
func (n *modelNode) told() string {
	return strings.Join([]string{n.name, string(n.observed), string(n.judged), map[bool]string{true: "expired"}[n.expired], map[bool]string{true: "suspect"}[n.suspect()]}, " ")
}

// doubt is a silence that waits to be confirmed.
type doubt struct {
	verdict Verdict
	uid     string
	beat    time.Duration
	rounds  int
}

// still returns the node if it has been silent ever since.
func (m *monitorModel) still(d doubt) *modelNode {
	n := m.nodes[d.verdict.Node]
	if n == nil || d.uid != "" && n.uid != "" && n.uid != d.uid || !n.suspect() || n.beat != d.beat || m.rounds != d.rounds {
		return nil
	}
	return n
}

func (m *monitorModel) confirm(d doubt) (n *modelNode, ok bool) {
	at := m.call()
	if n = m.still(d); n == nil || len(m.frozen) > 0 {
		return nil, false
	}
	n.doubted, n.expired = false, true
	m.judge(n, at)
	return n, true
}

func (m *monitorModel) revive(d doubt) bool {
	at := m.call()
	n := m.still(d)
	if n != nil {
		m.beat(n, at)
	}
	return n != nil
}

// all are the versions of every object of the kind.
func (m *monitorModel) all(kind func(*modelNode) *modelVersions) (all []*modelVersions) {
	for _, n := range m.nodes {
		all = append(all, kind(n))
	}
	return all
}

func objects(n *modelNode) *modelVersions { return &n.object }
func leases(n *modelNode) *modelVersions  { return &n.leases }

// see says whether an object is believed, and whether it shows a sign of life.
func (m *monitorModel) see(kind func(*modelNode) *modelVersions, n *modelNode, number uint64, stamp int64, last *int64) (believed, alive bool) {
	v := kind(n)
	latest := last == nil
	if last != nil {
		v.stamps = append(v.stamps, *last)
		latest = stamp > slices.Max(v.stamps)
	}
	differs := last == nil || stamp != *last
	switch {
	case number == 0:
		return true, differs
	case v.newest == 0:
		v.newest = number
		return true, latest
	case number >= v.newest:
		v.newest, v.fell = number, false
		return true, differs
	case !latest:
		return false, false
	}
	v.fell = true
	fell := 0
	for _, other := range m.all(kind) {
		if other.fell {
			fell++
		}
	}
	if fell == 2 {
		for _, other := range m.all(kind) {
			other.newest, other.fell = 0, false
		}
		v.newest = number
	}
	return true, true
}

func (m *monitorModel) begin(n *modelNode, r report, at time.Duration, now time.Time) {
	noted := m.note(at)
	number := parseVersion(r.ResourceVersion)
	if number == 0 {
		number = n.object.newest
	}
	*n = modelNode{lease: n.lease, leases: n.leases, news: true, name: r.Node, uid: string(r.UID), observed: r.Ready, changed: true, beat: noted, since: noted, watched: noted, heartbeat: r.Heartbeat.UnixNano(), transition: r.Transition.UnixNano()}
	n.object.newest = number
	m.nodes[r.Node] = n
	if r.Ready != "" {
		return
	}
	n.heartbeat = r.Created.UnixNano()
	n.transition = n.heartbeat
	if age := now.Sub(r.Created); m.started && !r.Created.IsZero() && age >= 0 {
		n.beat = at - min(age, at-m.passed)
		n.since = n.beat
	}
}

// observe takes the clock's reading without its monotonic part, because creation times are compared with it.
func (m *monitorModel) observe(r report, wall time.Time) Observation {
	at := m.call()
	number := parseVersion(r.ResourceVersion)
	n := m.nodes[r.Node]
	if n == nil {
		m.begin(&modelNode{}, r, at, wall)
		return Observation{New: true, Heartbeat: true}
	}
	if n.uid != "" && r.UID != "" && n.uid != string(r.UID) {
		if number != 0 && number < n.object.newest {
			return Observation{Stale: true}
		}
		m.begin(n, r, at, wall)
		return Observation{New: true, Heartbeat: true}
	}
	stamp := r.Heartbeat.UnixNano()
	if r.Ready == "" {
		stamp = noStamp
	}
	believed, alive := m.see(objects, n, number, stamp, &n.heartbeat)
	if !believed {
		return Observation{Stale: true}
	}
	if n.uid == "" && r.UID != "" {
		n.uid, n.changed, n.news = string(r.UID), true, true
	}
	was := n.observed
	if was != r.Ready {
		n.observed, n.changed = r.Ready, true
	}
	if r.Ready == "" {
		return Observation{}
	}
	changed := was != r.Ready && r.Ready != v1.ConditionUnknown
	alive = alive || changed && was == ""
	if t := r.Transition.UnixNano(); t != n.transition && (alive || changed) {
		n.transition, n.turned, n.changed = t, true, true
	}
	n.heartbeat = stamp
	if alive {
		m.beat(n, at)
	}
	return Observation{Heartbeat: alive}
}

func (m *monitorModel) beat(n *modelNode, at time.Duration) {
	if n.expired || n.doubted {
		n.expired, n.doubted, n.changed = false, false, true
	}
	n.beat, n.out = m.note(at), false
}

func (m *monitorModel) lease(name string, stamp int64, number uint64) bool {
	at := m.call()
	n := m.nodes[name]
	if n == nil {
		return false
	}
	believed, alive := m.see(leases, n, number, stamp, n.lease)
	if !believed {
		return false
	}
	n.lease = &stamp
	if alive {
		m.beat(n, at)
	}
	return alive
}

func (m *monitorModel) restart() {
	at := m.call()
	m.restartAt(at, m.note(at))
}

func (m *monitorModel) restartAt(at, beat time.Duration) {
	m.anew = at
	m.rounds++
	for _, n := range m.nodes {
		n.beat, n.out = beat, false
		n.since = at
		if n.doubted {
			n.doubted, n.changed = false, true
		}
	}
}

func (m *monitorModel) thaw(reason string) bool {
	m.call()
	i := slices.Index(m.frozen, reason)
	if i < 0 {
		return false
	}
	m.frozen = slices.Delete(m.frozen, i, i+1)
	if len(m.frozen) == 0 {
		at := m.call()
		m.lost, m.looked = false, m.elapsed
		if m.grid() {
			for m.from+m.period <= m.elapsed {
				m.from += m.period
			}
			m.heard = at - (m.elapsed - m.from)
			m.passed = m.heard
		}
		m.restart()
	}
	return true
}

func (m *monitorModel) settled(name string) bool {
	at := m.call()
	n := m.nodes[name]
	if n == nil || m.losing() && len(m.frozen) == 0 && m.restarts(at) {
		return false
	}
	settles, ok := m.settles(n)
	return ok && at >= settles
}

func (m *monitorModel) settles(n *modelNode) (at time.Duration, ok bool) {
	at = max(n.watched, m.anew) + m.graceOf(n)
	switch n.judged {
	case v1.ConditionFalse:
		if n.watched > m.anew && n.since > n.watched { // seen to change
			at = n.since
		}
		return at, true
	case v1.ConditionUnknown:
		return at, n.out && !n.doubted
	}
	return at, false
}

// next returns the listened time at which Pass is due.
func (m *monitorModel) next(at time.Duration) (time.Duration, bool) {
	changed := false
	for _, n := range m.nodes {
		changed = changed || n.changed
	}
	switch {
	case !m.started:
		return at, true
	case m.grid():
		return m.heard + m.period, true
	case len(m.frozen) > 0:
		return 0, false
	case changed || m.lost:
		return m.passed, true
	}
	return m.due()
}
