package health

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/internal/steady"
)

// MonitorSnapshot is what a monitor knows. It encodes to JSON. It holds ages in listened time, not instants, so the time
// until it is restored does not count, and it may be restored on another clock.
type MonitorSnapshot struct {
	// Version is 1.
	Version int `json:"version"`
	// Started: there was a Pass.
	Started bool `json:"started,omitempty"`
	// SincePass is how long ago the last Pass was, on the grid how long ago its slot was.
	SincePass time.Duration `json:"sincePass,omitempty"`
	// Frozen holds the reasons in force, oldest first.
	Frozen []string `json:"frozen,omitempty"`
	// Nodes are in the order of their names.
	Nodes []NodeSnapshot `json:"nodes,omitempty"`
}

// NodeSnapshot is one node in a snapshot. On the grid an age may be negative by less than a period: the next Pass will
// note it.
type NodeSnapshot struct {
	Node string    `json:"node"`
	UID  types.UID `json:"uid,omitempty"`
	// Observed is the current one. Ready is that of its last Verdict. Untold: there was no Verdict yet. Changed: the
	// next Pass gives one.
	Observed v1.ConditionStatus `json:"observed,omitempty"`
	Ready    v1.ConditionStatus `json:"ready,omitempty"`
	Untold   bool               `json:"untold,omitempty"`
	Changed  bool               `json:"changed,omitempty"`
	// Expired is as in Verdict. HandedOut: it has been silent for a whole grace period, and for one more after every
	// restart of all clocks. A suspect is neither: the next Pass of the restored monitor finds it again.
	Expired   bool `json:"expired,omitempty"`
	HandedOut bool `json:"handedOut,omitempty"`
	// Silent is how long ago the last sign of life was noted, Unchanged how long ago Ready changed.
	Silent    time.Duration `json:"silent"`
	Unchanged time.Duration `json:"unchanged"`
	// Heartbeat and Transition are the times in the Ready condition, Lease is the lease's renewTime, all in nanoseconds
	// since 1970.
	Heartbeat  int64  `json:"heartbeat"`
	Transition int64  `json:"transition"`
	Lease      *int64 `json:"lease,omitempty"`
	// ObjectVersions and LeaseVersions are what is known about the versions of the two objects.
	ObjectVersions Versions `json:"objectVersions"`
	LeaseVersions  Versions `json:"leaseVersions"`
}

// Versions is what a snapshot says about the versions of one object.
type Versions struct {
	// Newest is the newest resourceVersion seen, empty if there is none to compare with.
	Newest string `json:"newest,omitempty"`
	// Latest is the latest heartbeat or renewTime seen, if it is not the last one.
	Latest *int64 `json:"latest,omitempty"`
	// Fell: the object has shown a later heartbeat or renewTime with an older version.
	Fell bool `json:"fell,omitempty"`
}

// Snapshot returns what the monitor knows.
func (m *Monitor) Snapshot() MonitorSnapshot { return m.SnapshotAt(m.clock.Now()) }

// SnapshotAt is Snapshot at a reading of the clock.
func (m *Monitor) SnapshotAt(now time.Time) MonitorSnapshot {
	s := m.snapshot(now)
	slices.SortFunc(s.Nodes, func(a, b NodeSnapshot) int { return cmp.Compare(a.Node, b.Node) })
	return s
}

func (m *Monitor) snapshot(now time.Time) MonitorSnapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.listening.read(now)
	l := &m.listening
	s := MonitorSnapshot{Version: snapshotVersion, Started: l.started, Frozen: slices.Clone(m.frozen), Nodes: make([]NodeSnapshot, 0, m.nodes.Len())}
	switch {
	case l.grid():
		s.SincePass = age(l.time.Elapsed(), l.from)
	case l.started:
		s.SincePass = age(at, m.passed)
	}
	for _, e := range m.nodes.All() {
		s.Nodes = append(s.Nodes, m.nodeSnapshot(e, at))
	}
	return s
}

func age(now, then int64) time.Duration { return time.Duration(steady.Sub(now, then)) }

func (m *Monitor) nodeSnapshot(e *monitored, at int64) NodeSnapshot {
	n := &e.of
	s := NodeSnapshot{
		Node: n.name, UID: types.UID(n.uid), Observed: readinessStatus[n.observed], Ready: readinessStatus[n.judged],
		Untold: !n.known, Changed: n.changed != 0, Expired: n.expired, HandedOut: e.isOut() && !n.doubted,
		Silent: age(at, e.beat), Unchanged: age(at, n.since), Heartbeat: n.heartbeat, Transition: n.transition,
		ObjectVersions: m.objects.snapshot(&n.node, n.heartbeat), LeaseVersions: m.leases.snapshot(&n.lease, n.renewal),
	}
	if n.renewal != noStamp {
		lease := n.renewal
		s.Lease = &lease
	}
	return s
}

// Restore tracks the nodes of a snapshot. From then on the monitor answers as the original would have if its clock had
// stood still in between, except that nobody is Settled before one more grace period, because this monitor has not
// watched. The next Pass returns only what changed since the original's last one; for older verdicts, call Verdict. It is
// an error, and nothing has changed, if the monitor has seen anything, if the version is unknown, or if a node is there
// twice or what is said about it is impossible.
func (m *Monitor) Restore(s MonitorSnapshot) error { return m.RestoreAt(s, m.clock.Now()) }

// RestoreAt is Restore at a reading of the clock.
func (m *Monitor) RestoreAt(s MonitorSnapshot, now time.Time) error {
	if err := s.validate(m.config.NodeMonitorPeriod); err != nil {
		return fmt.Errorf("health: cannot restore: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.nodes.Len() > 0 || m.listening.started || len(m.frozen) > 0 {
		return errors.New("health: Restore needs a monitor that has seen nothing yet")
	}
	at := m.listening.read(now)
	m.frozen = slices.Clone(s.Frozen)
	if s.Started {
		m.anew = at
		m.passed = m.listening.restore(at, int64(s.SincePass))
	}
	for i := range s.Nodes {
		m.restoreNode(&s.Nodes[i], at)
	}
	return nil
}

func (m *Monitor) restoreNode(s *NodeSnapshot, at int64) {
	e := m.nodes.Add(s.Node)
	n := &e.of
	*n = nodeRecord{
		name: s.Node, uid: string(s.UID), node: m.objects.restore(s.ObjectVersions), lease: m.leases.restore(s.LeaseVersions), heartbeat: s.Heartbeat, transition: s.Transition,
		watched: at, observed: readinessOf(s.Observed), judged: readinessOf(s.Ready), known: !s.Untold, expired: s.Expired,
		since: steady.Sub(at, int64(s.Unchanged)), renewal: noStamp,
	}
	if s.Lease != nil {
		n.renewal = *s.Lease
	}
	e.grace = m.graceFor(n.observed)
	m.beats.put(e, steady.Sub(at, int64(s.Silent)))
	if s.HandedOut {
		m.beats.remove(e)
	}
	if s.Changed {
		m.touch(e)
	}
}

func (k *epochs) snapshot(v *version, last int64) (s Versions) {
	if v.epoch == k.number {
		s.Newest, s.Fell = formatVersion(v.number), v.ahead
	}
	if v.peak > last {
		peak := v.peak
		s.Latest = &peak
	}
	return s
}

func (k *epochs) restore(s Versions) version {
	v := version{number: parseVersion(s.Newest), ahead: s.Fell, peak: noStamp}
	if s.Latest != nil {
		v.peak = *s.Latest
	}
	if v.ahead {
		k.ahead++
	}
	return v
}

// validate returns the first thing in the snapshot that is impossible.
func (s *MonitorSnapshot) validate(period time.Duration) error {
	if s.Version != snapshotVersion {
		return fmt.Errorf("unknown snapshot version %d", s.Version)
	}
	if s.SincePass < 0 || !s.Started && s.SincePass > 0 {
		return errors.New("sincePass is negative, or set although there was no Pass")
	}
	for i, reason := range s.Frozen {
		if slices.Contains(s.Frozen[:i], reason) {
			return fmt.Errorf("frozen for %q twice", reason)
		}
	}
	var nodes, leases int
	twice := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if twice[n.Node] {
			return fmt.Errorf("node %s is there twice", n.Node)
		}
		twice[n.Node] = true
		if min(n.Silent, n.Unchanged) < -period {
			return fmt.Errorf("node %s: silent or unchanged is negative", n.Node)
		}
		if !n.plausible(s.Started) || !n.ObjectVersions.plausible(&nodes) || !n.LeaseVersions.plausible(&leases) {
			return fmt.Errorf("node %s: its fields contradict each other", n.Node)
		}
	}
	return nil
}

// plausible checks the invariants of a nodeRecord: the last Verdict follows from what was known, unless the node has
// changed since.
func (s *NodeSnapshot) plausible(started bool) bool {
	observed, ready := readinessOf(s.Observed), readinessOf(s.Ready)
	follows := ready == observed
	if s.Expired {
		follows = ready == readyUnknown
	}
	switch {
	case readinessStatus[observed] != s.Observed || readinessStatus[ready] != s.Ready:
		return false
	case !started && !s.Untold, s.Untold && (!s.Changed || s.Ready != ""), !s.Changed && !follows:
		return false
	}
	return s.Expired || !s.HandedOut
}

// plausible also counts the objects whose version fell: with several, a new epoch would have begun.
func (s Versions) plausible(fell *int) bool {
	if s.Fell {
		*fell++
	}
	number := parseVersion(s.Newest)
	return (number != 0) == (s.Newest != "") && (number != 0 || !s.Fell) && *fell < several
}
