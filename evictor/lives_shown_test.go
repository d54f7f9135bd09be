package evictor_test

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// The model, of what a process was shown and told; lives_may_test.go says what it may do then, lives_must_test.go what
// it must. All is written from the documentation alone: doc.go, DIFFERENCES.md (quoted as row "…") and the binding
// decisions of the design ("decision n"). Nothing is read from an evictor.

// livesTaint is a NoExecute taint as a process knows it. Times are elapsed ones throughout: see livesMind.elapsed.
type livesTaint struct {
	value string
	added time.Time // as the object says, zero when it says nothing
	start time.Time // the earliest that the rules allow, by which evictions are judged
	late  time.Time // the latest, by which they must come
}

// livesNode is what a process was shown of a node.
type livesNode struct {
	object   *v1.Node
	version  int64
	domain   string    // where it counts: that of its object, from the next pass on
	first    time.Time // when it was first shown
	changed  time.Time // when the last version was shown
	good     time.Time // when Ready was last shown True, else first
	wasGood  bool      // Ready was shown True since first
	reported bool      // it was shown with a Ready condition
	beat     time.Time // the last sign of life
	heard    time.Duration
	lease    time.Time
	failing  bool                  // at the last pass it had failed
	unknown  bool                  // at the last pass it was Unknown, or had been silent for a grace
	silent   bool                  // at a pass since the last sign of life a grace was over
	taints   map[string]livesTaint // NoExecute ones, by key
	wrote    map[string]time.Time  // those that this process wrote
	carries  time.Time             // since when it carries one of ours, zero for never
	marked   map[types.UID]bool    // pods that were marked not Ready in this outage
	down     bool                  // it had failed when every zone was last down
	due      time.Time             // without taints: since when it has failed for the whole timeout, zero for not
	emptied  bool                  // without taints: it has had its turn in this outage
}

// livesPod is what a process was shown of a pod.
type livesPod struct {
	*v1.Pod
	first, changed time.Time // when it was shown first, and as it is
}

// livesMind is what one process was shown and told.
type livesMind struct {
	world     *livesWorld
	process   *livesProcess
	began     time.Time
	nodes     map[string]*livesNode
	pods      map[types.UID]livesPod
	done      map[types.UID]bool // evicted, and the API server said so
	leaseSeen map[string]int64
	lastPass  time.Time
	slot      time.Time            // of the grid, in which that was
	listened  time.Duration        // until then
	ruling    zone.Ruling          // what the program's policy said last
	stands    map[string]bool      // domains whose rate is 0 as of the last pass
	allDown   time.Time            // the last pass at which every zone was down
	downSince time.Time            // since when they are
	turn      map[string]livesTurn // the nodes whose NoExecute taint is being written
	closed    map[string][2]time.Time
	did       map[evictor.Kind]int // writes that were done and not told yet
	released  map[string]time.Time // when the closure ended after which a node was released
	unsettled time.Time            // when it last began to see, or was frozen until
	trouble   time.Time            // when something last kept this process from its work
	troubles  string
	before    *livesMind                            // under Run: as it was when this instant began
	doubts    []func(*livesMind) (rule, why string) // under Run: writes that only the end of the instant may justify
}

type livesTurn struct {
	at     time.Time
	domain string
}

func newLivesMind(p *livesProcess) *livesMind {
	return &livesMind{
		world: p.world, process: p, began: p.world.now, nodes: map[string]*livesNode{}, pods: map[types.UID]livesPod{},
		leaseSeen: map[string]int64{}, done: map[types.UID]bool{}, stands: map[string]bool{}, turn: map[string]livesTurn{},
		closed: map[string][2]time.Time{}, did: map[evictor.Kind]int{}, released: map[string]time.Time{}, unsettled: p.world.now, trouble: p.world.now, troubles: "start",
	}
}

func (m *livesMind) grace() time.Duration { return m.world.config.NodeMonitorGracePeriod }

// elapsed is an instant of the API's as an age by this process's clock, taken when it is seen (decision 12).
func (m *livesMind) elapsed(stamp time.Time) time.Time { return stamp.Add(-m.process.skew) }

// sees is what is known of a node that the store shows.
func (m *livesMind) sees(name string) *livesNode {
	if m.process.seenNodes[name] == nil {
		return nil
	}
	return m.nodes[name]
}

// shownNode is told what the store answers. Row "an object older than one seen before is ignored …", row "a recreated
// node starts afresh". What is deleted is forgotten, so that memory is bounded.
func (m *livesMind) shownNode(name string, node *v1.Node) {
	if node == nil {
		delete(m.nodes, name)
		return
	}
	now, known := m.world.now, m.nodes[name]
	if known != nil && known.object.UID == node.UID && livesVersion(node) <= known.version || known != nil && livesVersion(node) < known.version {
		return
	}
	ready, stamp := livesReady(node)
	if known == nil || known.object.UID != node.UID {
		known = &livesNode{first: now, good: now, domain: m.world.plan.domain(node), wrote: map[string]time.Time{}, marked: map[types.UID]bool{}}
		m.lives(known)
		m.nodes[name] = known
	} else if before, was := livesReady(known.object); ready != "" && (before != "" && !was.Equal(stamp) || before == "" && ready != v1.ConditionUnknown) {
		m.lives(known)
	}
	m.knowTaints(known, node)
	known.object, known.version, known.changed = node, livesVersion(node), now
	known.reported = known.reported || ready != ""
	if ready == v1.ConditionTrue {
		known.good, known.wasGood, known.emptied, known.due, known.marked = now, true, false, time.Time{}, map[types.UID]bool{}
	}
}

// knowTaints is decision 2: when each NoExecute taint began, at the earliest and at the latest. A TimeAdded that is
// absent, in the future or before the node's creation means nothing.
func (m *livesMind) knowTaints(known *livesNode, node *v1.Node) {
	fresh, now, own := map[string]livesTaint{}, m.world.now, 0
	for _, taint := range node.Spec.Taints {
		if taint.Effect != v1.TaintEffectNoExecute {
			continue
		}
		is := livesTaint{value: taint.Value, start: now, late: now}
		plausible := taint.TimeAdded != nil && !taint.TimeAdded.After(m.process.wall()) && !taint.TimeAdded.Time.Before(node.CreationTimestamp.Time)
		if taint.TimeAdded != nil {
			is.added = taint.TimeAdded.Time
		}
		was, there := known.taints[taint.Key]
		if there = there && was.value == taint.Value; !there && m.world.ours(taint.Key) {
			other, swapped := known.taints[livesOwn[1-slices.Index(livesOwn, taint.Key)]]
			if _, kept := known.taints[taint.Key]; swapped && !kept { // row "a swap of our two taints keeps its start and TimeAdded"
				was, there = other, true
			}
		}
		switch wrote, ours := known.wrote[taint.Key]; {
		case known.object == nil && plausible: // a start, or a node that was not known
			is.start = m.elapsed(is.added)
		case known.object == nil:
		case there && plausible && !was.added.IsZero() && is.added.After(was.added):
			is.start = m.elapsed(is.added) // row "a taint that went and came back while nobody looked counts anew"
		case there && is.added.Equal(was.added):
			is.start, is.late = was.start, was.late
		case there: // what the new TimeAdded means is not said
			is.start = was.start
		case ours: // we saw it when we wrote it
			is.start = wrote
		}
		fresh[taint.Key] = is
		if m.world.ours(taint.Key) {
			own++
		}
	}
	switch known.taints = fresh; {
	case own == 0:
		known.carries = time.Time{}
	case known.carries.IsZero():
		known.carries = now
	}
}

func (m *livesMind) shownPod(pod *v1.Pod) {
	if known := m.pods[pod.UID]; known.Pod == nil || livesVersion(known) < livesVersion(pod) {
		m.pods[pod.UID] = livesPod{pod, livesOr(known.first, m.world.now), m.world.now}
	}
}

// renewed is told a node's lease; one that is older than the last is ignored.
func (m *livesMind) renewed(name string, renew time.Time, version int64) {
	if version < m.leaseSeen[name] {
		return
	}
	m.leaseSeen[name] = version
	if known := m.nodes[name]; known != nil && !known.lease.Equal(renew) {
		known.lease = renew
		m.lives(known)
	}
}

func (m *livesMind) lives(known *livesNode) {
	known.beat, known.heard, known.silent = m.world.now, m.hears(), false
}

// hears is how long this process has listened: row "a gap between two passes adds one period to anybody's silence at
// most". Exact mode has no passes to miss, and its gaps are not judged.
func (m *livesMind) hears() time.Duration {
	switch {
	case m.world.plan.Exact:
		return m.world.now.Sub(livesBegin)
	case m.lastPass.IsZero():
		return 0
	}
	return m.listened + min(m.world.now.Sub(m.slot), m.world.config.NodeMonitorPeriod)
}

func (m *livesMind) silence(known *livesNode) time.Duration { return m.hears() - known.heard }

// passed is told after each monitor pass. While the process is blind "verdicts are frozen" (SetObserverHealth).
func (m *livesMind) passed() {
	if period := m.world.config.NodeMonitorPeriod; m.lastPass.IsZero() {
		m.slot = m.world.now
	} else if slots := m.world.now.Sub(m.slot) / max(period, 1); slots > 0 { // passes that come late keep to their grid
		m.slot, m.listened = m.slot.Add(slots*period), m.listened+period
	}
	m.lastPass = m.world.now
	for _, known := range m.nodes {
		ready, _ := livesReady(known.object)
		known.domain, known.failing = m.world.plan.domain(known.object), false
		if m.process.blind == nil {
			known.unknown = m.silence(known) >= m.grace() || ready == v1.ConditionUnknown
		}
		known.silent = known.silent || m.silence(known) >= m.grace()
		known.failing = m.failed(known) == ""
		if known.failing && known.due.IsZero() && m.world.now.Sub(m.failedSince(known)) >= m.world.config.PodEvictionTimeout {
			known.due = m.world.now
		}
	}
	if m.process.blind == nil {
		m.zones()
	}
}

// ruled is told what the program's policy says.
func (m *livesMind) ruled(ruling zone.Ruling) {
	if ruling.Pending != zone.GoOn && m.ruling.Pending == zone.GoOn {
		m.closed["policy"] = [2]time.Time{m.world.now, m.world.now}
	}
	if m.ruling = ruling; ruling.Pending == zone.Cancel {
		for _, known := range m.nodes {
			known.emptied = false
		}
	}
}

// zones notes where the rate is 0: everywhere while every zone is down (decision 6), and in small zones that are
// partially disrupted. A node is bad when its object says so, and good when it is surely alive.
func (m *livesMind) zones() {
	config, total, bad, good := m.world.config, map[string]int{}, map[string]int{}, map[string]int{}
	for name := range m.process.seenNodes {
		known := m.nodes[name]
		if known == nil {
			return
		}
		if m.world.plan.excluded(known.object) {
			continue
		}
		total[known.domain]++
		if ready, _ := livesReady(known.object); ready != v1.ConditionTrue {
			bad[known.domain]++
		} else if m.silence(known) < m.grace() {
			good[known.domain]++
		}
	}
	down := len(total) > 0
	clear(m.stands)
	for domain, n := range total {
		down = down && bad[domain] == n
		m.stands[domain] = good[domain] > 0 && livesStands(config, bad[domain], n) || m.world.plan.Policy && m.ruling.Rate == 0
	}
	if !down {
		m.downSince = time.Time{}
		return
	}
	m.unsettled = m.world.now
	m.allDown, m.downSince = m.world.now, livesOr(m.downSince, m.world.now)
	for _, known := range m.nodes {
		ready, _ := livesReady(known.object)
		known.down, known.emptied = ready != v1.ConditionTrue, false // it has to be emptied again
	}
}

// livesStands: partially disrupted, and of no more than LargeClusterSizeThreshold nodes.
func livesStands(config evictor.Config, bad, total int) bool {
	return bad > 2 && bad < total && total <= config.LargeClusterSizeThreshold && float32(bad)/float32(total) >= float32(config.UnhealthyZoneThreshold)
}

func livesOr(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		return otherwise
	}
	return at
}
