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
	m.ruling = ruling
}

// zones notes where the rate is 0: everywhere while every zone is down (decision 6), and in small zones that are
// partially disrupted; in large ones it is the secondary one. A node is bad when its object says so, and good when it is
// surely alive.
func (m *livesMind) zones() {
	config, total, bad, good := m.world.config, map[string]int{}, map[string]int{}, map[string]int{}
	for name := range m.process.seenNodes {
		known := m.nodes[name]
		if known == nil {
			return
		}
		if m.world.plan.excluded(known.object) || m.process.blind != nil && known.verdict == "" {
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
		partial := good[domain] > 0 && bad[domain] > 2 && float32(bad[domain])/float32(n) >= float32(config.Nodes.UnhealthyZoneThreshold)
		m.partly[domain] = partial && n <= config.Nodes.LargeClusterSizeThreshold
		if partial {
			slow[domain] = cmp.Or(m.slow[domain], m.world.now)
		}
		if out := n - good[domain]; out > 2 && float32(out)/float32(n) >= float32(config.Nodes.UnhealthyZoneThreshold) {
			perhaps[domain] = cmp.Or(m.perhaps[domain], m.world.now)
		}
	}
	m.perhaps = perhaps
	if m.slow = slow; len(good) == 0 { // they may be all down
		m.unsettled = m.world.now
	}
	if !down {
		if !m.downSince.IsZero() {
			m.up = m.world.now
		}
		m.downSince = time.Time{}
		return
	}
	m.startAnew()
	m.downSince = cmp.Or(m.downSince, m.world.now)
	for _, known := range m.nodes {
		known.emptied = false // it has to be emptied again
	}
}

// conflicted notes when a node's writes began to be too old: the turn may have come then, or only now.
func (m *livesMind) conflicted(node string) {
	if m.world.now.Sub(m.conflict[node]) > 10*time.Second {
		m.conflict[node] = m.world.now
	}
}

// tries is told of each try to taint a node, and tried of what came of it. Row "a failed taint costs its token": one that is
// certainly not done, so that the next try is another turn. What nobody knows is tried again in the same turn. A conflict
// costs none: it is the object that was old.
func (m *livesMind) tries(node string) {
	if is := m.turns[node]; m.turn[node].IsZero() && is != nil && is.tried.IsZero() && !is.told { // other writes may have taken long
		m.turn[node] = is.granted
	}
	m.turn[node] = cmp.Or(m.turn[node], m.world.now)
}

func (m *livesMind) tried(node string, err error) {
	if m.conflicts[node] = apierrors.IsConflict(err); !m.conflicts[node] && m.nodes[node] != nil && m.turn[node] != m.counted[node] {
		m.counted[node] = m.turn[node]
		m.pacedSince(m.turn[node], node, m.nodes[node].domain, true) // the write may have taken long
	}
	if m.acted(node, err); err == nil || livesCertain(err) && !apierrors.IsConflict(err) {
		delete(m.turn, node)
	}
}

// evicting is told of each eviction that the program is asked about, and of each that the API server sees. The first of
// these from a node has cost its turn where nothing is tainted. What our own taints made overdue while they were not
// permitted leaves node by node, at the zone's rate (decision 4).
func (m *livesMind) evicting(ref evictor.PodRef, asked bool) {
	known, pod := m.nodes[ref.Node], m.pods[ref.Name]
	if m.ours = false; known == nil || pod.Pod == nil {
		return
	}
	if m.due(m.deadline(known, pod, false, false)) { // by the taints of others, or by its turn as well
		known.unsure = known.unsure || m.timedOut(known, pod)
		return
	}
	m.ours = true
	if m.overdueAtStart(known, pod) && m.released[ref.Node].IsZero() {
		m.released[ref.Node] = m.world.now
		m.pacedSince(m.came.Add(m.grace()), ref.Node, known.domain, false)
	}
	if !asked && m.timedOut(known, pod) && !known.emptied && !m.comesLate(known, pod) {
		known.unsure = false
		known.emptied, m.begins[ref.Name] = true, true
	}
	end := m.deadline(known, pod, true, true)
	for _, key := range []string{livesAll, known.domain, "lead"} {
		closed := m.closed[key]
		from := livesLater(livesLater(closed[0], m.unsettled.Add(2*m.grace())), livesLater(pod.changed, known.changed)).Add(time.Second)
		if m.world.plan.Taints && end.After(from) && end.Before(closed[1].Add(-time.Second)) && m.released[ref.Node].Before(closed[1]) &&
			m.world.freed[ref.Node].Before(closed[1]) { // what was held became overdue only then
			m.released[ref.Node] = m.world.now
			m.pacedSince(closed[1], ref.Node, known.domain, false) // its turn may have come then, and a renewal have delayed the eviction
		}
	}
}

// paced: no more nodes of a domain than its rate grants, one of them at once (decision 10), nor of all than the cap.
// Each process that begins to lead brings a full bucket; two that lead at the same time each keep the pace.
func (m *livesMind) paced(name, domain string, capped bool) {
	m.pacedSince(m.world.now, name, domain, capped)
}

func (m *livesMind) pacedSince(from time.Time, name, domain string, capped bool) {
	config, own := m.world.config, fmt.Sprintf("p%d/%p", m.process.slot, m)
	rates := map[string]float64{"all of " + domain: config.Nodes.NodeEvictionRate, own + " of " + domain: config.Nodes.NodeEvictionRate}
	if since := m.slow[domain]; !since.IsZero() {
		rates[fmt.Sprintf("%s of %s since %v", own, domain, since)] = config.Nodes.SecondaryNodeEvictionRate
	}
	if limit := config.Nodes.MaxNodesPerSecond; limit > 0 && capped {
		rates["all"], rates[own] = limit, limit
	}
	for pace, rate := range rates {
		all, since := strings.HasPrefix(pace, "all"), m.conflict[name]
		if m.world.now.Sub(since) > 10*time.Second {
			since = m.world.now
		}
		kept := false
		for at := from; !kept && !at.After(m.world.now); at = at.Add(time.Second) { // what follows from a turn may come late
			kept = m.world.judge.keeps(pace, rate, at, all)
		}
		if !kept && !m.world.judge.keeps(pace, rate, since, all) && !m.world.judge.keeps(pace, rate, m.world.now, all) {
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

// emptied is told of each eviction: without taints, one that fails ends the turn, for which another is wanted.
func (m *livesMind) emptied(ref evictor.PodRef, direct bool, err error) {
	node := ref.Node
	known := m.nodes[node]
	if known == nil || m.world.plan.Taints {
		return
	}
	denied, begins := livesCertain(err), m.begins[ref.Name] // nothing was done: another pod or turn counts
	if begins && !denied && m.behind.Before(m.world.now) {  // else it may have had its turn when older versions were ignored
		m.paced(node, known.domain, true)
	}
	known.emptied = known.emptied && !(begins && denied)
	delete(m.begins, ref.Name)
	if direct {
		m.acted(node, err, ref)
	}
	if err == nil {
		return
	}
	known.unsure = true
}

// stands says whether the rate of a domain is 0.
func (m *livesMind) stands(domain string) bool {
	return m.partly[domain] || m.world.plan.Policy && m.ruling.Rate == 0
}

// stood says whether the rate was 0 before this instant, too: at the instant when it became 0, a turn may have come.
func (m *livesMind) stood(domain string) bool {
	return m.stands(domain) && !m.slow[domain].Equal(m.world.now)
}

// unheard is how long nobody will listen: row "a gap between two passes adds at most one period to a node's silence".
// In exact mode it adds nothing.
func (m *livesMind) unheard() time.Duration {
	if !m.process.frozen.After(m.world.now) { // it may be the zero Time, whose distance cannot be reckoned with
		return 0
	}
	gap := m.process.frozen.Sub(m.world.now)
	if !m.world.plan.Exact {
		gap -= m.world.config.Nodes.NodeMonitorPeriod
	}
	return max(0, gap)
}

// overdueAtStart: what our own taints made overdue before the process began leaves node by node at the zone's rate; what
// falls due later keeps its instant.
func (m *livesMind) overdueAtStart(known *livesNode, pod livesPod) bool {
	end := m.deadline(known, pod, true, false)
	return m.world.plan.Taints && m.world.plan.Half == livesBoth && !end.IsZero() && end.Before(m.came.Add(-time.Second)) && !known.swap.moved.After(known.first) &&
		pod.changed.Before(m.came.Add(time.Second))
}
