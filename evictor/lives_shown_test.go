package evictor_test

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// The model, of what a process was shown and told; lives_may_test.go says what it may do then, lives_must_test.go what it
// must, lives_pace_test.go how fast. It follows the documentation alone: doc.go,
// DIFFERENCES.md (quoted as row "…") and the decisions of the design ("decision n"). Nothing is read from an evictor.

// livesTaint is a NoExecute taint as a process knows it. Times are elapsed ones throughout: see livesMind.elapsed.
type livesTaint struct {
	value       string
	added       time.Time // as the object says, zero when it says nothing
	start, late time.Time // since when it counts: the earliest that the rules allow, and the latest
	old, moved  time.Time // start before it last changed, and when that was
}

// livesNode is what a process was shown of a node.
type livesNode struct {
	object         *v1.Node
	domain         string    // where it counts: that of its object, from the next pass on
	first, changed time.Time // when it was first shown, and as it is
	good           time.Time // when Ready was last True, zero for never
	spoke          time.Time // when that was last shown other than Unknown
	born           time.Time // when it was created, by the clock when it was first shown
	turned         bool      // it became not Ready after it was first shown
	reported       bool      // it was shown with a Ready condition, other than Unknown where it had none before
	beat           time.Time // the last sign of life
	alive          bool      // it gave one since it is watched
	heard          time.Duration
	lease          time.Time
	leaseVersion   int64
	verdict        v1.ConditionStatus    // at the last pass
	confirmed      bool                  // somebody said so since
	fell           bool                  // and that was since the last pass
	silent         bool                  // that was Unknown at a pass since the last sign of life
	surely         time.Time             // since when that is so for sure
	said           time.Time             // since when its conditions call for the NoSchedule taints that they do
	again          time.Time             // when it had failed and all clocks started anew
	taints         map[string]livesTaint // NoExecute ones, by key
	hidden         map[string]livesTaint // those it had before an older version was believed
	swap           livesSwap             // which of our two it is
	hiddenSwap     livesSwap             // before an older version was believed
	tainted        time.Time             // since when it carries any, if it does
	due            time.Time             // without taints: since when PodEvictionTimeout is over, zero for not
	emptied        bool                  // without taints: it has had its turn in this outage
	unsure         bool                  // without taints: it may have had its turn, or given it back since an eviction failed
	before         *livesNode            // the newer one of its name that was shown before it
	newest         int64                 // version of it that was believed
	older          time.Time             // since when an older one is shown
	stamp, peak    time.Time             // the last heartbeat that was a sign of life, and the latest one shown
	lost           time.Duration         // of its silence, at most: "when a clock without monotonic readings is set back, no time passes" (doc.go)
}

// livesPod is what a process was shown of a pod.
type livesPod struct {
	*v1.Pod
	changed, seen   time.Time // when it was shown first as it is, and when last at all
	soonest, latest time.Time // when it was bound: the earliest that the rules allow, and the latest
	evicted, failed bool      // the API server said so; the last try to evict it
	marked          time.Time // not Ready
	later           time.Time // when a budget that refused an eviction wants to be asked again
	laterDirect     bool      // by the half that empties nodes
	livesRefused
}

// livesMind is what one process was shown and told.
type livesMind struct {
	livesNotes
	world     *livesWorld
	process   *livesProcess
	nodes     map[string]*livesNode
	pods      map[string]livesPod
	prior     map[string]livesMachine // leases that came before the first Step
	slot      time.Time               // of the last pass
	listened  time.Duration           // until then
	ruling    zone.Ruling             // what the program's policy said last
	partly    map[string]bool         // domains that were partially disrupted, and small, at the last pass
	slow      map[string]time.Time    // since when that of others is the secondary one
	perhaps   map[string]time.Time    // since when a zone may be partially disrupted
	downSince time.Time               // since when every zone is down, as of the last pass
	up        time.Time               // when that last ended, at the latest
	came      time.Time               // when it began to watch
	anew      time.Time               // when all clocks started anew, at the earliest
	closed    map[string][2]time.Time // since when and until when harm was last not permitted, by domain
	unsettled time.Time               // when it last began to see, or was frozen until
}

func (m *livesMind) grace() time.Duration { return m.world.config.Nodes.NodeMonitorGracePeriod }

// elapsed is an instant of the API's as an age by this process's clock, taken when it is seen (decision 12).
func (m *livesMind) elapsed(stamp time.Time) time.Time { return stamp.Add(-m.process.skew) }

// shownNode is told what the store answers. Row "an object older than one seen before is ignored …", row "a recreated
// node starts afresh". What is deleted is forgotten, so that memory is bounded.
func (m *livesMind) shownNode(name string, node *v1.Node) {
	if was := m.nodes[name]; was != nil && (node == nil || node.UID != was.object.UID) {
		m.forgetsRefusals(name)
	}
	if node == nil {
		delete(m.nodes, name)
		for of, pod := range m.pods { // with what was evicted from it
			if pod.Pod != nil && pod.Spec.NodeName == name {
				pod.evicted = false
				m.pods[of] = pod
			}
		}
		return
	}
	now, known := m.world.now, m.nodes[name]
	if known != nil && known.before != nil && known.before.object.UID == node.UID { // not each half has seen another one meanwhile
		known.before.lease, known.before.leaseVersion = known.lease, known.leaseVersion // which goes by the node's name
		known = known.before
		m.nodes[name] = known
		for key, taint := range known.taints { // one that has counts it anew
			taint.late = now
			known.taints[key] = taint
		}
		known.swap.latest = now
		known.lost = m.silence(known) // whoever has seen it come anew waits for a whole grace
	}
	ready, stamp := livesReady(node)
	spoke := ready == v1.ConditionTrue || ready == v1.ConditionFalse
	later := known != nil && spoke && known.object.UID == node.UID && stamp.After(known.peak) // row "a heartbeat with an older version is believed …"
	older := known != nil && livesVersion(node) < known.newest
	switch {
	case older && known.older.IsZero():
		if known.older = now; !later {
			return
		}
	case older && m.stale(known, node):
		if !later {
			return
		}
	}
	if known != nil && (!older || later && !m.stale(known, node)) {
		known.older, known.newest = time.Time{}, livesVersion(node)
	} // else nothing newer was shown for a whole grace
	if known != nil && known.object.ResourceVersion == node.ResourceVersion {
		return
	}
	if known == nil || known.object.UID != node.UID {
		before := known
		known = &livesNode{first: now, born: now.Add(min(0, m.elapsed(node.CreationTimestamp.Time).Sub(now))), domain: m.world.plan.domain(node), stamp: stamp, peak: stamp, newest: livesVersion(node)}
		if before != nil { // a lease goes by its node's name: the same one again is no sign of life of another node
			known.lease, known.leaseVersion = before.lease, before.leaseVersion
			for of, pod := range m.pods { // an eviction of a pod on it is another one
				if pod.Pod != nil && pod.Spec.NodeName == name {
					pod.later = time.Time{}
					m.pods[of] = pod
				}
			}
		}
		if prior, seen := m.prior[name]; seen && before == nil {
			known.lease, known.leaseVersion = prior.renew, prior.lease
		}
		if m.lives(known); older {
			known.before = before
		}
		m.nodes[name] = known
	} else if spoke && (!older || later) && !stamp.Equal(known.stamp) {
		m.lives(known)
		known.stamp, known.alive = stamp, true
	}
	if older { // not each half has looked at it
		known.hidden, known.hiddenSwap = known.taints, known.swap
	}
	m.knowTaints(known, node)
	was := v1.ConditionStatus("")
	if known.object != nil {
		was, _ = livesReady(known.object)
		known.turned = known.turned || ready == v1.ConditionFalse && was != ready
	}
	if spoke || ready == "" {
		known.spoke = now
	}
	if was == "" || !slices.Equal(livesNoSchedule(known.object), livesNoSchedule(node)) { // without Ready they call for nothing
		known.said = now
	}
	if own, _ := livesNoExecute(node.Spec.Taints); len(own) > 0 && m.turns[name] != nil {
		m.turns[name].loose = true // it is known what came of it, also if somebody takes the taint away before the next look
	}
	known.object, known.changed, known.reported = node, now, known.reported || ready != "" && (ready != v1.ConditionUnknown || known.object == nil)
	if m.world.plan.Half == livesTaintEviction {
		known.domain = m.world.plan.domain(node) // it has no passes
	}
	if spoke {
		known.peak = livesLater(known.peak, stamp)
	}
	if ready == v1.ConditionTrue && m.silence(known) < m.grace() {
		known.good, known.emptied, known.due = now, false, time.Time{}
	}
}

// knowTaints is decision 2: when each NoExecute taint began, at the earliest and at the latest. A TimeAdded that is
// absent, in the future or before the node's creation means nothing.
func (m *livesMind) knowTaints(known *livesNode, node *v1.Node) {
	fresh, now := map[string]livesTaint{}, m.world.now
	for _, taint := range node.Spec.Taints {
		if taint.Effect != v1.TaintEffectNoExecute {
			continue
		}
		is, plausible, together := livesTaint{value: taint.Value, start: now, late: now}, now, false
		if taint.TimeAdded != nil {
			is.added = taint.TimeAdded.Time
			if !is.added.After(m.process.wall()) && !is.added.Before(node.CreationTimestamp.Time) {
				plausible = m.elapsed(is.added)
			}
		}
		was, there := known.taints[taint.Key]
		hidden, hid := known.hidden[taint.Key]
		if there = there && was.value == taint.Value; !there && livesIsOwn(taint.Key) {
			other := livesOwn[1-slices.Index(livesOwn, taint.Key)]
			was, there = known.taints[other] // row "a swap of our two taints keeps its start and TimeAdded"
			together = there && slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == other && t.Effect == taint.Effect })
		}
		switch {
		case known.object == nil: // a start, or a node that was not known
			is.start = plausible
		case there && (together || is.added.Equal(was.added)): // "seen together they are one outage"
			is.start, is.late = was.start, was.late
		case hid && hidden.value == taint.Value && hidden.added.Equal(is.added):
			is.start = hidden.start
		case there && !is.added.IsZero() && !was.added.IsZero():
			is.start = livesLater(was.start, plausible) // row "a taint that went and came back unseen counts anew"
		case there && was.moved.Equal(now): // not each half has seen what was before
			is.start = was.old
		case there: // what the new TimeAdded means is not said
			is.start = was.start
		}
		if is.old, is.moved = was.old, was.moved; there && !is.start.Equal(was.start) {
			is.old, is.moved = was.start, now
		}
		fresh[taint.Key] = is
	}
	m.knowSwap(known, node, fresh)
	if len(known.taints) == 0 {
		known.tainted = now
	}
	known.taints = fresh
}

// shownPod is told what the store answers. Row "an object older than one seen before is ignored": that of pods.
func (m *livesMind) shownPod(name string, pod *v1.Pod) {
	if pod == nil {
		delete(m.pods, name)
		return
	}
	now, known, remembered := m.world.now, m.pods[name], false
	if known.Pod != nil && m.world.plan.Half != livesLifecycle {
		on := m.nodes[known.Spec.NodeName]
		remembered = on != nil && len(on.taints) > 0 && !known.seen.Before(on.tainted) && on.first.Before(now)
	}
	if known.Pod == nil || known.UID != pod.UID && !(remembered && livesVersion(pod) < livesVersion(known)) {
		known = livesPod{soonest: now, latest: now}
		for _, condition := range pod.Status.Conditions {
			if at := condition.LastTransitionTime.Time; condition.Type == v1.PodScheduled && !at.After(m.process.wall()) && m.elapsed(at).Before(now) {
				known.soonest = m.elapsed(at)
			}
		}
	}
	known.evicted = known.evicted && (known.Pod == nil || known.UID == pod.UID) // an older one of its name was seen meanwhile
	known.seen = now
	if known.Pod == nil || livesVersion(pod) > livesVersion(known) || livesVersion(pod) < livesVersion(known) && !remembered {
		known.Pod, known.changed, known.evicted = pod, now, known.evicted && pod.DeletionTimestamp == nil
	}
	m.pods[name] = known
}

// of changes what is known of a pod, if it is that.
func (m *livesMind) of(ref evictor.PodRef, change func(known *livesPod)) {
	if known := m.pods[ref.Name]; known.Pod != nil && known.UID == ref.UID {
		change(&known)
		m.pods[ref.Name] = known
	}
}

// renewed is told a node's lease; one that is older than the last is ignored.
func (m *livesMind) renewed(name string, renew time.Time, version int64) {
	if m.nodes[name] == nil { // calls before the Step that sees the node count at that Step (LeaseObserved)
		m.prior[name] = livesMachine{renew: renew, lease: version}
	}
	if known := m.nodes[name]; known != nil && version >= known.leaseVersion && !known.lease.Equal(renew) {
		known.lease, known.leaseVersion, known.alive = renew, version, true
		m.lives(known)
	}
}

func (m *livesMind) lives(known *livesNode) {
	known.beat, known.heard, known.silent, known.confirmed, known.lost = m.world.now, m.hears(), false, false, m.unheard()
	known.surely = time.Time{}
}

// hears is how long this process has listened: row "of the time between two calls, at most a quarter of a grace counts".
// Exact mode has no passes to miss, and its gaps are not judged.
func (m *livesMind) hears() time.Duration {
	switch {
	case m.world.plan.Exact:
		return m.world.now.Sub(livesBegin)
	case m.slot.IsZero():
		return m.listened
	}
	return m.listened + min(m.world.now.Sub(m.slot), m.maxGap())
}

func (m *livesMind) maxGap() time.Duration {
	return max(m.grace()/4, m.world.config.Nodes.NodeMonitorPeriod*6/5)
}

func (m *livesMind) silence(known *livesNode) time.Duration { return m.hears() - known.heard }

// isSilent: NodeStartupGracePeriod counts from the creation of a node that has never reported; row "an evictor that begins to watch
// waits …".
func (m *livesMind) isSilent(known *livesNode) bool {
	age := min(m.world.now.Sub(known.born), m.world.now.Sub(m.came))
	return known.reported && m.silence(known) >= m.grace() || !known.reported && age >= m.world.config.Nodes.NodeStartupGracePeriod
}

// early says whether the node had failed when this process began to watch, less than a grace ago.
func (m *livesMind) early(known *livesNode) bool {
	return known.good.IsZero() && !known.first.After(m.came) && m.world.now.Sub(m.came) < m.grace() && !m.confesses(known)
}

// confesses says whether the node says itself that it is not ready, and has given a sign of life since it is watched.
func (m *livesMind) confesses(known *livesNode) bool {
	ready, _ := livesReady(known.object)
	return ready == v1.ConditionFalse && known.alive
}

// observes is told whether it sees well: when it does again all clocks start anew (decision 6).
func (m *livesMind) observes(well bool) {
	if m.unsettled = m.world.now; !well {
		return
	}
	m.listens()
	m.restarts()
	m.kick() // what has failed is tried again at once
	for name := range m.nodes {
		m.forgetsRefusals(name)
	}
}

// restarts: all heartbeat clocks start anew.
func (m *livesMind) restarts() {
	m.startAnew()
	for _, known := range m.nodes {
		if !known.silent {
			m.lives(known)
		}
	}
}

// listens is called for each pass; the end of a freeze is one.
func (m *livesMind) listens() {
	if !m.slot.IsZero() {
		m.listened = m.hears()
	}
	m.slot = m.world.now
}

// startAnew: what has failed has one more grace.
func (m *livesMind) startAnew() {
	m.anew = m.world.now
	for _, known := range m.nodes {
		known.alive = false
		if known.verdict == v1.ConditionFalse || known.verdict == v1.ConditionUnknown {
			known.again = m.anew
		}
	}
}

// passed is told after each monitor pass. Row "verdicts freeze while the observer is not healthy".
func (m *livesMind) passed() {
	m.listens()
	for _, known := range m.nodes {
		ready, _ := livesReady(known.object)
		if known.domain = m.world.plan.domain(known.object); ready == v1.ConditionTrue {
			known.good = m.world.now
		}
		if m.process.blind == nil {
			known.fell, known.silent = false, known.silent || m.isSilent(known)
			if known.verdict = ready; m.isSilent(known) && !m.unconfirmed(known) && m.silence(known)-known.lost >= m.grace()+m.world.config.Nodes.NodeMonitorPeriod { // surely
				known.verdict = v1.ConditionUnknown
			}
		}
		m.timesOut(known)
	}
	m.zones()
}

// timesOut: without taints, PodEvictionTimeout may be over.
func (m *livesMind) timesOut(known *livesNode) {
	ready, _ := livesReady(known.object)
	since := known.beat // upstream counts from there, from the change to False or, if it never reported, from the creation
	if ready == v1.ConditionFalse {
		since = cmp.Or(known.good, known.first)
	}
	age, timeout := m.process.wall().Sub(known.object.CreationTimestamp.Time), m.world.config.Nodes.PodEvictionTimeout
	if m.failed(known) == "" && known.due.IsZero() && (m.world.now.Sub(since) >= timeout || !known.reported && m.silence(known) >= m.grace() && age >= timeout) {
		known.due = m.world.now
	}
}
