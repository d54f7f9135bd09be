package evictor_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/zone"
)

// The pace: at which rate nodes of a domain may be tainted or emptied, and whether they were, over all processes.

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
// partially disrupted; in large ones it is the secondary one. A node is bad when its object says so, and good when it is
// surely alive.
func (m *livesMind) zones() {
	defer m.budgets()
	config, total, bad, good := m.world.config, map[string]int{}, map[string]int{}, map[string]int{}
	for name := range m.process.seenNodes {
		known := m.nodes[name]
		if known == nil {
			return
		}
		if m.excluded(known) {
			continue
		}
		total[known.domain]++
		ready, _ := livesReady(known.object)
		if m.process.blind != nil {
			ready = known.verdict // frozen, but nodes still go
		}
		if ready != v1.ConditionTrue {
			bad[known.domain]++
		} else if m.silence(known) < m.grace() {
			good[known.domain]++
		}
	}
	down, slow, perhaps := len(total) > 0, map[string]time.Time{}, map[string]time.Time{}
	clear(m.partly)
	for domain, n := range total {
		down = down && bad[domain] == n
		partial := good[domain] > 0 && bad[domain] > 2 && float32(bad[domain])/float32(n) >= float32(config.UnhealthyZoneThreshold)
		m.partly[domain] = partial && n <= config.LargeClusterSizeThreshold
		if partial {
			slow[domain] = cmp.Or(m.slow[domain], m.world.now)
		}
		if out := n - good[domain]; out > 2 && float32(out)/float32(n) >= float32(config.UnhealthyZoneThreshold) {
			perhaps[domain] = cmp.Or(m.perhaps[domain], m.world.now)
		}
	}
	m.perhaps = perhaps
	if m.slow = slow; len(good) == 0 { // they may be all down
		m.unsettled = m.world.now
	}
	if !down {
		m.downSince = time.Time{}
		return
	}
	m.startAnew()
	m.downSince = cmp.Or(m.downSince, m.world.now)
	for _, known := range m.nodes {
		known.emptied = false // it has to be emptied again
	}
}

// full: Config.MaxFailedNodes carried our taints already when the node had its turn.
func (m *livesMind) full(name string) bool {
	carry := 0
	for other, known := range m.nodes {
		if slices.ContainsFunc(livesOwn, func(key string) bool {
			taint, carries := known.taints[key]
			return carries && other != name && taint.late.Before(cmp.Or(m.turn[name], m.world.now))
		}) {
			carry++
		}
	}
	return m.world.config.MaxFailedNodes > 0 && carry >= m.world.config.MaxFailedNodes
}

// conflicted notes when a node's writes began to be too old: the turn may have come then, or only now.
func (m *livesMind) conflicted(node string) {
	if m.world.now.Sub(m.conflict[node]) > 10*time.Second {
		m.conflict[node] = m.world.now
	}
}

// tries is told of each try to taint a node, and tried of what came of it. A conflict is read again and keeps the turn;
// row "a failed taint costs its token", so that after any other failure the next try is another turn.
func (m *livesMind) tries(node string) {
	if known := m.nodes[node]; known != nil && m.turn[node].IsZero() {
		m.turn[node] = m.world.now
		m.paced(node, known.domain, true)
	}
}

func (m *livesMind) tried(node string, err error) {
	if known, turn := m.nodes[node], m.turn[node]; err == nil && known != nil && known.acts.IsZero() {
		m.begins(known, turn.Add(-1), turn, turn)
	}
	if err == nil || !apierrors.IsConflict(err) {
		delete(m.turn, node)
	}
}

// evicting is told of each eviction that the API server sees. The first one from a node has cost its turn where nothing
// is tainted. What our own taints made overdue while they were not permitted leaves node by node, at the zone's rate
// (decision 4).
func (m *livesMind) evicting(ref evictor.PodRef) {
	known, pod := m.nodes[ref.Node], m.pods[ref.Name]
	if m.ours = false; known == nil || pod.Pod == nil {
		return
	}
	if m.due(m.deadline(known, pod, false, false)) { // by the taints of others, or by its turn as well
		known.unsure = known.unsure || m.timedOut(known, pod)
		return
	}
	m.ours = true
	if m.timedOut(known, pod) && !known.emptied && !m.comesLate(known, pod) {
		first := m.world.now
		if known.emptied = true; !m.behind.Before(first) {
			first = known.due // it may have had its turn when older versions were ignored
		} else {
			m.paced(ref.Node, known.domain, true)
		}
		m.begins(known, m.world.now.Add(-1), first, m.world.now)
	}
	end := m.deadline(known, pod, true, true)
	for _, key := range []string{livesAll, known.domain, "policy", "lead", "budget of " + ref.Node} {
		closed := m.closed[key]
		from := livesLater(livesLater(closed[0], m.unsettled.Add(2*m.grace())), livesLater(pod.changed, known.changed)).Add(time.Second)
		if m.world.plan.Taints && end.After(from) && end.Before(closed[1].Add(-time.Second)) && m.released[ref.Node].Before(closed[1]) {
			m.released[ref.Node] = m.world.now
			m.paced(ref.Node, known.domain, false)
		}
	}
}

// paced: no more nodes of a domain than its rate grants, one of them at once (decision 10), nor of all than the cap.
// Each process that begins to lead brings a full bucket; two that lead at the same time each keep the pace.
func (m *livesMind) paced(name, domain string, capped bool) {
	config, own := m.world.config, fmt.Sprintf("p%d/%p", m.process.slot, m)
	rates := map[string]float64{"all of " + domain: config.NodeEvictionRate, own + " of " + domain: config.NodeEvictionRate}
	if since := m.slow[domain]; !since.IsZero() {
		rates[fmt.Sprintf("%s of %s since %v", own, domain, since)] = config.SecondaryNodeEvictionRate
	}
	if limit := config.MaxNodesPerSecond; limit > 0 && capped {
		rates["all"], rates[own] = limit, limit
	}
	for pace, rate := range rates {
		all, since := strings.HasPrefix(pace, "all"), m.conflict[name]
		if m.world.now.Sub(since) > 10*time.Second {
			since = m.world.now
		}
		if !m.world.judge.keeps(pace, rate, since, all) && !m.world.judge.keeps(pace, rate, m.world.now, all) {
			m.wrong("pace", "%s is one too many by %s at a rate of %v", name, pace, rate)
		}
	}
}

// keeps says whether a pace is kept with one more; all means by all processes together.
func (j *livesJudge) keeps(pace string, rate float64, at time.Time, all bool) bool {
	times := append(slices.Clone(j.paces[pace]), at)
	slices.SortFunc(times, time.Time.Compare)
	if all && j.split {
		return true
	}
	refill := time.Duration(float64(time.Second) / rate)
	for i, first := range times {
		for k, last := range times[i:] {
			granted := 1 + (last.Sub(first)+j.world.slack).Seconds()*rate
			for _, start := range j.starts {
				if all && start.After(first.Add(-refill)) && !start.After(last) {
					granted++
				}
			}
			if float64(k+1) > granted+0.001 {
				return false
			}
		}
	}
	j.paces[pace] = times
	return true
}

// begins notes that a node was acted on, between these instants.
func (m *livesMind) begins(known *livesNode, acts, first, last time.Time) {
	known.acts, known.unsure, m.asked = acts, false, m.asked || acts.Before(m.world.now)
	for i := range m.world.plan.Bounds {
		if group, in := m.in(&m.world.plan.Bounds[i], known); in {
			m.begun[group] = append(m.begun[group], livesBegun{known.object.Name, first, last})
		}
	}
}

// adopts: "taints of an earlier process count too", since when they say.
func (m *livesMind) adopts(known *livesNode) {
	switch carries := known.carries(m.world); {
	case carries && known.acts.IsZero():
		first := m.world.now
		if known.bared.Equal(first) { // it was never seen without
			first = livesBegin
		}
		for _, key := range livesOwn {
			if taint := known.taints[key]; !taint.added.IsZero() && m.elapsed(taint.added).Before(first) {
				first = m.elapsed(taint.added)
			}
		}
		m.begins(known, m.world.now, first, m.world.now)
	case !carries && m.world.plan.Taints && known.changed.Equal(m.world.now):
		known.acts, known.bared = time.Time{}, m.world.now
	}
}

// begunIn is over for what has begun in a window.
func (m *livesMind) begunIn(in livesGroup, next *livesNode, total [2]int64) (surely, perhaps bool) {
	now, begun, slack := m.world.now, m.begun[in], m.world.slack+time.Second
	if next != nil {
		begun = append(slices.Clone(begun), livesBegun{next.object.Name, now, now})
	}
	surelyIn, perhapsIn := map[string]bool{}, map[string]bool{}
	for _, b := range begun {
		if now.Sub(b.first) < in.bound.Within-slack {
			surelyIn[b.node] = true
		}
		if now.Sub(b.last) < in.bound.Within+time.Minute {
			perhapsIn[b.node] = true
		}
	}
	for name, known := range m.nodes { // a turn with nothing to do begins, too
		if group, is := m.in(in.bound, known); is && group == in && m.idle(known) {
			perhapsIn[name] = true
		}
	}
	return int64(len(surelyIn)) > in.bound.Max.Of(total[1]), int64(len(perhapsIn)) > in.bound.Max.Of(total[0])
}

// emptied is told of each eviction: without taints, one that fails ends the turn, for which another is wanted.
func (m *livesMind) emptied(node string, err error) {
	known := m.nodes[node]
	if m.ours && err == nil {
		m.podLeft(node)
	}
	if known == nil || err == nil || m.world.plan.Taints {
		return
	}
	known.unsure = true
	for _, begun := range m.begun {
		for i := range begun {
			if begun[i].node == node {
				begun[i].first = livesBegin
			}
		}
	}
}

// stands says whether the rate of a domain is 0.
func (m *livesMind) stands(domain string) bool {
	return m.partly[domain] || m.world.plan.Policy && m.ruling.Rate == 0
}
