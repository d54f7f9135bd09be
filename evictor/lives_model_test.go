package evictor_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/taints"
)

// What the objects allow, written from the documentation alone: package evictor's doc.go, its table of differences
// (quoted below as row "…") and the binding decisions of the design (as "decision n"). The judge knows what each
// process was shown and told, and nothing of what an evictor remembers.

// livesJudge keeps the first thing that went wrong, and the pace over all processes.
type livesJudge struct {
	world   *livesWorld
	rule    string
	message string
	paces   map[string][]time.Time // when nodes of a zone were first tainted or emptied
	starts  []time.Time            // when somebody began to lead
	split   bool                   // two have led at a time
	stood   time.Time              // the last instant at which the wall clock showed less than before
}

func (j *livesJudge) wrong(rule, format string, args ...any) {
	if j.rule == "" {
		j.rule, j.message = rule, fmt.Sprintf(format, args...)
		j.world.logf("  WRONG %s: %s", j.rule, j.message)
	}
}

// livesTaintKnown is a NoExecute taint as a process knows it.
type livesTaintKnown struct {
	value string
	start time.Time // elapsed: the earliest that the rules allow, by which evictions are judged
	late  time.Time // the latest, by which they must come
	added time.Time // the wall's as the object says, zero when it says nothing
}

// livesNodeKnown is what a process was shown of a node.
type livesNodeKnown struct {
	object   *v1.Node
	version  int64
	first    time.Time // when it was first shown
	good     time.Time // when Ready was last shown True, else first
	wasGood  bool      // Ready was shown True since
	changed  time.Time // when the last version was shown
	beat     time.Time // the last sign of life
	heard    time.Duration
	unknown  bool // at the last pass it was Unknown, or had been silent for a grace
	due      bool // without taints: it has failed for the whole timeout; so it waits, whatever the failure turns into
	silent   bool // a grace without a sign of life was over at some time since the last report
	lease    time.Time
	known    map[string]livesTaintKnown
	wrote    map[string]time.Time // NoExecute taints that this process wrote
	emptied  bool
	down     bool               // it had failed when every zone was last down
	dueAt    time.Time          // since when it is due
	reported bool               // it was shown with a Ready condition
	marked   map[types.UID]bool // pods that were marked not Ready in this outage
}

// livesMind is what one process was shown and told.
type livesMind struct {
	world     *livesWorld
	process   *livesProcess
	began     time.Time
	nodes     map[string]*livesNodeKnown
	pods      map[types.UID]*v1.Pod
	lastPass  time.Time
	listened  time.Duration
	stands    map[string]bool // zones of which the rate is 0 as of the last pass
	downSince time.Time       // since when every zone is down
	allDown   time.Time       // the last pass at which every zone was down
	leaseSeen map[string]int64
	done      map[types.UID]bool   // evicted, and the API server said so
	turn      map[string]time.Time // since when a node's NoExecute taint is being written
	harmless  time.Time            // the last time at which no harm was permitted
	trouble   time.Time            // when something last kept this process from its work
	troubles  string
}

func newLivesMind(p *livesProcess) *livesMind {
	return &livesMind{world: p.world, process: p, began: p.world.now, nodes: map[string]*livesNodeKnown{}, pods: map[types.UID]*v1.Pod{},
		leaseSeen: map[string]int64{}, done: map[types.UID]bool{}, stands: map[string]bool{}, turn: map[string]time.Time{}, trouble: p.world.now, troubles: "start"}
}

func (m *livesMind) wrong(rule, format string, args ...any) {
	m.world.judge.wrong(rule, "p%d: %s", m.process.slot, fmt.Sprintf(format, args...))
}

func (m *livesMind) disturbed(why string) { m.trouble, m.troubles = m.world.now, why }

func livesReady(node *v1.Node) (status v1.ConditionStatus, beat time.Time) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == v1.NodeReady {
			return condition.Status, condition.LastHeartbeatTime.Time
		}
	}
	return "", time.Time{}
}

func livesVersion(text string) int64 {
	version, _ := strconv.ParseInt(text, 10, 64)
	return version
}

var livesOwn = []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable}

func livesIsOwn(key string) bool { return slices.Contains(livesOwn, key) }

// ours: without taints nobody of us writes NoExecute, and "taints of other people act in both" (Config.TaintBasedEviction).
func (w *livesWorld) ours(key string) bool { return w.plan.Taints && livesIsOwn(key) }

// plausible is decision 2: a TimeAdded that is absent, in the future or before the node's creation means nothing.
func (m *livesMind) plausible(node *v1.Node, taint *v1.Taint) (added time.Time, plausible bool) {
	if taint.TimeAdded == nil {
		return time.Time{}, false
	}
	return taint.TimeAdded.Time, !taint.TimeAdded.After(m.world.wall()) && !taint.TimeAdded.Time.Before(node.CreationTimestamp.Time)
}

// elapsed is an instant of the API's as an age, taken when it is seen (decision 12).
func (m *livesMind) elapsed(stamp time.Time) time.Time { return stamp.Add(-m.world.skew) }

// shownNode is called with what the store answers. An older version than one seen is ignored: row "an object older
// than one seen before is ignored".
func (m *livesMind) shownNode(name string, node *v1.Node) {
	if node == nil { // what is deleted is forgotten, so that memory is bounded: a store that goes back shows it anew
		delete(m.nodes, name)
		return
	}
	version, now := livesVersion(node.ResourceVersion), m.world.now
	known := m.nodes[name]
	if known != nil && version <= known.version {
		return
	}
	if known == nil || known.object.UID != node.UID { // row "a recreated node starts afresh"
		known = &livesNodeKnown{first: now, good: now, beat: now, heard: m.hears(), known: map[string]livesTaintKnown{},
			wrote: map[string]time.Time{}, marked: map[types.UID]bool{}}
		m.nodes[name] = known
	} else {
		before, stamp := livesReady(known.object)
		if after, beat := livesReady(node); after != "" && (before != "" && !beat.Equal(stamp) || before == "" && after != v1.ConditionUnknown) {
			m.lives(known)
			known.silent = false
		}
	}
	m.knowTaints(known, node)
	known.object, known.version, known.changed = node, version, now
	if ready, _ := livesReady(node); ready != "" {
		known.reported = true
	}
	if ready, _ := livesReady(node); ready == v1.ConditionTrue {
		known.good, known.wasGood, known.emptied = now, true, false
		known.due, known.marked = false, map[types.UID]bool{}
	}
}

func (m *livesMind) lives(known *livesNodeKnown) {
	known.beat, known.heard = m.world.now, m.hears()
}

// knowTaints is decision 2: when each NoExecute taint began, at the earliest.
func (m *livesMind) knowTaints(known *livesNodeKnown, node *v1.Node) {
	fresh := map[string]livesTaintKnown{}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != v1.TaintEffectNoExecute {
			continue
		}
		added, plausible := m.plausible(node, taint)
		is := livesTaintKnown{value: taint.Value, start: m.world.now, late: m.world.now, added: added}
		was, before := known.known[taint.Key]
		if before && was.value != taint.Value { // row "a taint of another value is another taint"
			before = false
		} else if !before && m.world.ours(taint.Key) { // row "a swap of our two taints keeps its start and TimeAdded"
			was, before = known.known[livesOwn[1-slices.Index(livesOwn, taint.Key)]]
		}
		switch wrote, ours := known.wrote[taint.Key]; {
		case known.object == nil: // a start, or a node that was not known
			if plausible {
				is.start = m.elapsed(added)
			}
		case before && plausible && !was.added.IsZero() && added.After(was.added):
			is.start = m.elapsed(added) // row "a taint that went and came back while nobody looked counts anew"
		case before && added.Equal(was.added):
			is.start, is.late = was.start, was.late
		case before: // what the new TimeAdded means is not said
			is.start = was.start
		case ours && livesIsOwn(taint.Key):
			is.start = wrote // we saw it when we wrote it
		}
		fresh[taint.Key] = is
	}
	known.known = fresh
}

func (m *livesMind) shownPod(_ string, pod *v1.Pod) {
	if pod == nil {
		return
	}
	if known := m.pods[pod.UID]; known == nil || livesVersion(known.ResourceVersion) < livesVersion(pod.ResourceVersion) {
		m.pods[pod.UID] = pod
	}
}

// lease is a renewal that was told; one older than the last is ignored.
func (m *livesMind) lease(name string, renew time.Time, version int64) {
	if version < m.leaseSeen[name] {
		return
	}
	m.leaseSeen[name] = version
	if known := m.nodes[name]; known != nil && !known.lease.Equal(renew) {
		known.lease = renew
		m.lives(known)
	}
}

// hears is how long somebody has listened: row "a gap between two passes adds one period to anybody's silence at most".
func (m *livesMind) hears() time.Duration {
	if m.lastPass.IsZero() {
		return m.listened
	}
	return m.listened + min(m.world.now.Sub(m.lastPass), m.world.plan.config().NodeMonitorPeriod)
}

func (m *livesMind) silence(known *livesNodeKnown) time.Duration { return m.hears() - known.heard }

// passed is told after each monitor pass.
func (m *livesMind) passed() {
	m.listened = m.hears()
	m.lastPass = m.world.now
	grace := m.world.plan.config().NodeMonitorGracePeriod
	for _, known := range m.nodes {
		ready, _ := livesReady(known.object)
		if m.process.blind == nil { // else "verdicts are frozen" (SetObserverHealth)
			known.unknown = m.silence(known) >= grace || ready == v1.ConditionUnknown
		}
		if m.silence(known) >= grace {
			known.silent = true
		}
		if failed, _ := m.failed(known); failed && m.world.now.Sub(m.failedSince(known)) >= m.world.plan.config().PodEvictionTimeout {
			if !known.due {
				known.dueAt = m.world.now
			}
			known.due = true
		}
	}
	if m.process.blind == nil {
		m.zones()
	}
}

// zones notes which zones stand: decision 6, and the rate 0 of a small zone that is partially disrupted. A node counts as
// bad here when its object says so, and as good when it is surely alive.
func (m *livesMind) zones() {
	config, total, bad, good := m.world.plan.config(), map[string]int{}, map[string]int{}, map[string]int{}
	for name := range m.process.seenNodes {
		known := m.nodes[name]
		if known == nil {
			return
		}
		zone := known.object.Labels[livesZone]
		if _, excluded := known.object.Labels[livesExclude]; excluded {
			continue
		}
		total[zone]++
		if ready, _ := livesReady(known.object); ready != v1.ConditionTrue {
			bad[zone]++
		} else if m.silence(known) < config.NodeMonitorGracePeriod {
			good[zone]++
		}
	}
	down := len(total) > 0
	clear(m.stands)
	for zone := range total {
		down = down && bad[zone] == total[zone]
		m.stands[zone] = bad[zone] > 2 && good[zone] > 0 && float32(bad[zone])/float32(total[zone]) >= float32(config.UnhealthyZoneThreshold)
	}
	if down {
		m.allDown = m.world.now
		for _, known := range m.nodes {
			ready, _ := livesReady(known.object)
			known.down = ready != v1.ConditionTrue
		}
	}
}

func (m *livesMind) sees(name string) *livesNodeKnown {
	if m.process.seenNodes[name] == nil {
		return nil
	}
	return m.nodes[name]
}

// neverReported: NodeStartupGracePeriod counts from the creation of a node that has never reported.
func (m *livesMind) neverReported(known *livesNodeKnown) bool {
	return !known.reported && m.world.wall().Sub(known.object.CreationTimestamp.Time) >= m.world.plan.config().NodeStartupGracePeriod
}

// failed says whether the process may take a node for failed, and else why not.
func (m *livesMind) failed(known *livesNodeKnown) (bool, string) {
	config := m.world.plan.config()
	switch ready, _ := livesReady(known.object); ready {
	case "":
		return m.silence(known) >= min(config.NodeMonitorGracePeriod, config.NodeStartupGracePeriod) || m.neverReported(known), "it has no Ready condition"
	case v1.ConditionFalse, v1.ConditionUnknown: // it is tainted though it may live: row "an Unknown node that renews its lease keeps its pods"
		return true, ""
	default:
		return m.silence(known) >= config.NodeMonitorGracePeriod, "it is Ready and not silent"
	}
}

// ownCounts says whether our own taints, or the timeout without taints, may evict from a node now, and else why not.
func (m *livesMind) ownCounts(name string, known *livesNodeKnown) (bool, string) {
	grace := m.world.plan.config().NodeMonitorGracePeriod
	ready, _ := livesReady(known.object)
	switch {
	case m.world.held(name):
		return false, "it is held"
	case ready == "": // row "a failed node that loses its Ready condition waits and evicts no more"
		return false, "it has no Ready condition"
	case ready == v1.ConditionUnknown && m.silence(known) < grace: // row "an Unknown node that renews its lease keeps its pods"
		return false, fmt.Sprintf("it is Unknown and has been silent for %v only", m.silence(known))
	case ready == v1.ConditionTrue && m.silence(known) < grace: // row "nothing is evicted from a node that has reported Ready"
		return false, fmt.Sprintf("it is Ready and has been silent for %v only", m.silence(known))
	case ready == v1.ConditionFalse && !known.wasGood && m.world.now.Sub(known.first) < grace: // decision 1
		return false, "it came failed, and has not been watched for a grace period"
	case !m.allDown.IsZero() && m.allDown.Equal(m.lastPass):
		return false, "every zone is down"
	case !m.allDown.IsZero() && m.world.now.Sub(m.allDown) < grace: // row "after every zone is down, nodes still failed wait one more grace"
		return false, "every zone was down less than a grace ago"
	}
	return true, ""
}

// tolerates is how a toleration matches a taint, as the API documents it.
func livesTolerates(toleration *v1.Toleration, taint *v1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect || toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	if toleration.Operator == v1.TolerationOpExists {
		return true
	}
	return (toleration.Operator == "" || toleration.Operator == v1.TolerationOpEqual) && toleration.Value == taint.Value && toleration.Key != ""
}

// bound is when the pod came to its node: decision 2.
func (m *livesMind) bound(pod *v1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && !condition.LastTransitionTime.After(m.world.wall()) {
			return m.elapsed(condition.LastTransitionTime.Time)
		}
	}
	return time.Time{}
}

// deadline is when the taints shown end the pod's stay, at the earliest or at the latest; false when never.
func (m *livesMind) deadline(known *livesNodeKnown, pod *v1.Pod, own, late bool) (time.Time, bool) {
	bound, end, ends := m.bound(pod), time.Time{}, false
	note := func(at time.Time) {
		if !ends || at.Before(end) {
			end, ends = at, true
		}
	}
	for i := range known.object.Spec.Taints {
		taint := &known.object.Spec.Taints[i]
		if taint.Effect != v1.TaintEffectNoExecute || m.world.ours(taint.Key) && !own {
			continue
		}
		start := known.known[taint.Key].start
		if late {
			start = known.known[taint.Key].late
		}
		if bound.After(start) {
			start = bound
		}
		use := slices.IndexFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool { return livesTolerates(&t, taint) })
		if use < 0 { // one that is not tolerated ends the stay at once
			note(start)
		} else if seconds := pod.Spec.Tolerations[use].TolerationSeconds; seconds != nil {
			note(start.Add(max(0, time.Duration(*seconds)*time.Second)))
		}
	}
	return end, ends
}

// Judgements of writes.

// writes: MayWrite stops every write and event (decision 4).
func (m *livesMind) writes(what string) {
	if !m.process.leads {
		m.wrong("write without permission", "%s", what)
	}
}

func (m *livesMind) harm() error {
	switch {
	case m.world.harm != nil:
		return m.world.harm
	case len(m.world.pauses) > 0:
		return fmt.Errorf("paused: %v", livesSorted(m.world.pauses))
	}
	return m.process.blind
}

// target is what the process knows of a node that it writes.
func (m *livesMind) target(what string, node *v1.Node) *livesNodeKnown {
	m.writes(what)
	known := m.sees(node.Name)
	switch {
	case m.world.removed[node.Name].Equal(m.world.now): // amid the writes of one plan: the UID is their precondition (NodeWriter)
	case known == nil:
		m.wrong("unknown node written", "%s, which the store does not have", what)
	case known.object.UID != node.UID:
		m.wrong("unknown node written", "%s of UID %s, the last one seen is %s", what, node.UID, known.object.UID)
	default:
		return known
	}
	return nil
}

func (m *livesMind) updatesConditions(node *v1.Node, conditions []v1.NodeCondition) {
	known := m.target("conditions of "+node.Name, node)
	if known == nil {
		return
	}
	config := m.world.plan.config()
	if !known.silent && !m.neverReported(known) && m.silence(known) < min(config.NodeMonitorGracePeriod, config.NodeStartupGracePeriod) {
		m.wrong("verdict too soon", "%s is written Unknown after %v of silence", node.Name, m.silence(known))
	}
	for _, condition := range conditions {
		if condition.Status != v1.ConditionUnknown || condition.Type == v1.NodeNetworkUnavailable {
			m.wrong("condition", "%s is written %s=%s", node.Name, condition.Type, condition.Status)
		}
	}
}

func livesNoExecute(list []v1.Taint) (own, foreign []string) {
	for _, taint := range list {
		if taint.Effect == v1.TaintEffectNoExecute && livesIsOwn(taint.Key) {
			own = append(own, taint.Key)
		} else if !strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			foreign = append(foreign, taint.Key)
		}
	}
	return own, foreign
}

func (w *livesWorld) noExecute(list []v1.Taint) (own, foreign []string) {
	if own, foreign = livesNoExecute(list); !w.plan.Taints {
		return nil, append(foreign, own...)
	}
	return own, foreign
}

func (m *livesMind) updatesTaints(node *v1.Node, change taints.Change) {
	known := m.target("taints of "+node.Name, node)
	if known == nil {
		return
	}
	if livesVersion(node.ResourceVersion) < known.version {
		m.wrong("stale", "taints of %s are computed from version %s, %d was seen", node.Name, node.ResourceVersion, known.version)
	}
	added, foreign := livesNoExecute(change.Add)
	removed, alien := livesNoExecute(change.Remove)
	if len(foreign)+len(alien) > 0 {
		m.wrong("foreign taint written", "%s: %v %v", node.Name, foreign, alien)
	}
	if len(added) == 0 {
		return
	}
	has, _ := livesNoExecute(node.Spec.Taints)
	if ok, why := m.failed(known); !ok {
		m.wrong("healthy node tainted", "%s gets %v, but %s", node.Name, added, why)
	}
	switch {
	case len(has)+len(removed) == 0 && m.harm() != nil:
		m.wrong("tainted without permission", "%s gets %v: %v", node.Name, added, m.harm())
	case m.world.held(node.Name):
		m.wrong("held node tainted", "%s gets %v", node.Name, added)
	case !m.world.plan.Taints:
		m.wrong("tainted without taints", "%s gets %v", node.Name, added)
	case len(has) == 0 && !m.allDown.IsZero() && m.allDown.Equal(m.lastPass):
		m.wrong("tainted while all are down", "%s gets %v", node.Name, added)
	case len(has) == 0 && !m.allDown.IsZero() && known.down && known.good.Before(m.allDown) && m.world.now.Sub(m.allDown) < m.world.plan.config().NodeMonitorGracePeriod:
		m.wrong("tainted soon after all were down", "%s gets %v", node.Name, added) // row "… nodes still failed wait one more grace"
	case len(has) == 0 && m.stands[node.Labels[livesZone]] && m.turn[node.Name].IsZero():
		m.wrong("tainted in a zone that stands", "%s gets %v in zone %s", node.Name, added, node.Labels[livesZone])
	}
	// Decision 3: what it reports counts from the pass that follows.
	if ready, _ := livesReady(known.object); ready == v1.ConditionFalse && added[0] == v1.TaintNodeUnreachable && !known.unknown {
		m.wrong("wrong taint", "%s gets %v and says Ready=False", node.Name, added)
	}
}

// tainted is told when a write of taints has landed.
func (m *livesMind) tainted(node *v1.Node, before, after []v1.Taint) {
	had, _ := livesNoExecute(before)
	has, _ := livesNoExecute(after)
	known := m.nodes[node.Name]
	for _, key := range has {
		if known != nil && !slices.Contains(had, key) {
			known.wrote[key] = m.world.now
		}
	}
	if len(had) == 0 && len(has) > 0 {
		m.paced(node.Name, node.Labels[livesZone])
	}
}

// turns notes when a node's write of taints was first tried. A conflict is read again and keeps the turn; "a failed taint
// costs its token", so that after any other failure the next try is another turn.
func (m *livesMind) turns(node *v1.Node, err error) {
	if _, tried := m.turn[node.Name]; !tried {
		m.turn[node.Name] = m.world.now
	}
	if err == nil || !apierrors.IsConflict(err) {
		delete(m.turn, node.Name)
	}
}

// paced: no more nodes of a zone than its rate grants, one of them at once: decision 10. Each process that begins to
// lead brings a full bucket. Two that lead at the same time each keep the pace.
func (m *livesMind) paced(name, zone string) {
	at, tried := m.turn[name]
	if !tried {
		at = m.world.now
	}
	j, rate := m.world.judge, m.world.plan.config().NodeEvictionRate
	alone := fmt.Sprintf("p%d/%p of zone %s", m.process.slot, m, zone)
	all := "all of zone " + zone
	for _, pace := range []string{alone, all} {
		times := append(j.paces[pace], at)
		slices.SortFunc(times, time.Time.Compare)
		j.paces[pace] = times
		if pace == all && j.split {
			continue
		}
		for i := range times {
			// "A clock that goes back stands still" (doc.go, Bad input): what had its turn meanwhile is written after it.
			if !j.stood.IsZero() && times[i].Add(-time.Duration(float64(time.Second)/rate)).Before(j.stood) {
				continue
			}
			for k := i; k < len(times); k++ {
				granted := 1 + (times[k].Sub(times[i]).Seconds()+1)*rate // a write may wait a second for that of the conditions
				for _, start := range j.starts {
					if start.After(times[i].Add(-time.Duration(float64(time.Second)/rate))) && !start.After(times[k]) && pace == all {
						granted++
					}
				}
				if count := k - i + 1; float64(count) > granted+0.001 {
					m.wrong("pace", "%d nodes by %s in %v at a rate of %v, the last is %s", count, pace, times[k].Sub(times[i]), rate, name)
				}
			}
		}
	}
}

// evicts judges an eviction that is about to be written.
func (m *livesMind) evicts(ref evictor.PodRef, why evictor.Decision) {
	m.writes("eviction of " + ref.Name)
	if err := m.harm(); err != nil {
		m.wrong("evicted without permission", "%s: %v", ref.Name, err)
	}
	pod, known := m.pods[ref.UID], m.sees(ref.Node)
	shown := m.process.seenPods[ref.Name]
	// Row "a pod is evicted once for all reasons" holds until the store shows that it is gone. One that goes back after
	// that shows it anew; the UID keeps the second eviction from doing harm.
	if m.process.rewound[ref.Name] && shown != nil {
		pod = shown
	} else if m.done[ref.UID] {
		m.wrong("evicted twice", "%s (%s)", ref.Name, ref.UID)
	}
	switch {
	case pod == nil || shown == nil || shown.UID != ref.UID: // decision 7
		m.wrong("pod unknown", "%s (%s) is not what the store shows", ref.Name, ref.UID)
		return
	case known == nil:
		m.wrong("evicted from no node", "%s from %s", ref.Name, ref.Node)
		return
	case pod.Spec.NodeName != ref.Node:
		m.wrong("evicted from another node", "%s is on %s, not on %s", ref.Name, pod.Spec.NodeName, ref.Node)
	case pod.DeletionTimestamp != nil: // row "terminating pods are left alone"
		m.wrong("terminating pod evicted", "%s", ref.Name)
	case pod.Status.Phase == v1.PodSucceeded || pod.Annotations[v1.MirrorPodAnnotationKey] != "": // row "completed and mirror pods stay"
		m.wrong("pod evicted in vain", "%s", ref.Name)
	}
	now := m.world.now
	end, ends := m.deadline(known, pod, false, false)
	if ends && !end.After(now) {
		return
	}
	reasons := fmt.Sprintf("foreign taints allow %s", m.tell(end, ends))
	ok, because := m.ownCounts(ref.Node, known)
	if m.world.plan.Taints {
		own, owns := m.deadline(known, pod, true, false)
		if ok && owns && !own.After(now) {
			return
		}
		reasons += fmt.Sprintf("; all taints %s, and our own do not count because %q", m.tell(own, owns), because)
	} else if timeout := m.world.plan.config().PodEvictionTimeout; ok && !livesDaemon(pod) {
		failed, _ := m.failed(known)
		since := m.failedSince(known)
		if failed && (known.due || now.Sub(since) >= timeout) {
			if late := known.due && m.bound(pod).After(known.dueAt); !late && !known.emptied && m.stands[known.object.Labels[livesZone]] {
				m.wrong("emptied in a zone that stands", "%s from %s", ref.Name, ref.Node)
			} else if known.due && m.bound(pod).After(known.dueAt) {
				return // a node that has had its turn empties again what is bound later, as upstream does
			} else if !known.emptied {
				known.emptied = true
				m.paced(ref.Node, known.object.Labels[livesZone])
			}
			return
		}
		reasons += fmt.Sprintf("; it has failed for %v", now.Sub(since))
	} else {
		reasons += "; " + because
	}
	taint := "none"
	if why.Taint != nil {
		taint = livesTaintString(why.Taint)
	}
	m.wrong("unjustified eviction", "%s from %s (taint %s, %s): %s", ref.Name, ref.Node, taint, why.Reason, reasons)
}

// failedSince is when a node failed: upstream counts from the change to False, or from the last sign of life of Unknown.
func (m *livesMind) failedSince(known *livesNodeKnown) time.Time {
	if ready, _ := livesReady(known.object); ready == v1.ConditionFalse {
		return known.good
	}
	return known.beat
}

func (m *livesMind) tell(end time.Time, ends bool) string {
	if !ends {
		return "it to stay"
	}
	return "it until " + livesSince(end)
}

func livesDaemon(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(owner metav1OwnerReference) bool { return owner.Kind == "DaemonSet" })
}

func (m *livesMind) evicted(ref evictor.PodRef, err error) {
	if err == nil || apierrors.IsNotFound(err) {
		m.done[ref.UID] = true
	}
}

// marks: row "pods are marked once in an outage, and only by our own verdict", and not while every zone is down.
func (m *livesMind) marks(ref evictor.PodRef) {
	m.writes("mark of " + ref.Name)
	known, pod := m.sees(ref.Node), m.pods[ref.UID]
	if m.world.removed[ref.Node].Equal(m.world.now) { // amid the writes of one plan, as in target
		return
	}
	if known == nil || pod == nil || pod.Spec.NodeName != ref.Node {
		m.wrong("pod unknown", "%s (%s) on %s is marked", ref.Name, ref.UID, ref.Node)
		return
	}
	if ready, _ := livesReady(known.object); !known.silent && ready != v1.ConditionUnknown && m.silence(known) < m.world.plan.config().NodeMonitorGracePeriod {
		m.wrong("marked without a verdict", "%s on %s, which is Ready=%q", ref.Name, ref.Node, ready)
	}
	if !m.allDown.IsZero() && m.allDown.Equal(m.lastPass) {
		m.wrong("marked while all are down", "%s on %s", ref.Name, ref.Node)
	}
	if known.marked[ref.UID] {
		m.wrong("marked twice", "%s on %s, in one outage", ref.Name, ref.Node)
	}
}
