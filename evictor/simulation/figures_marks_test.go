package simulation

import (
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor/simulation/timeline"
)

// naiveMarks follows which pods are marked not Ready.
type naiveMarks struct {
	since map[string]time.Duration // of the pods that are marked now
	left  map[string]bool          // of these, those that are evicted at the same instant
	set   map[string]string        // of all pods that ever were
	times []time.Duration
	ended map[string]int // by evictions at this instant, by set: the marks of an instant come before
	at    time.Duration
	most  int
	ofSet map[string]*WorkloadReport
	lives int // marks on live nodes, whose kubelets repair them when they next report
}

// follow looks at the pods after something has happened.
func (k *naiveMarks) follow(m *naive, l *timeline.Line) {
	if k.at != m.at || k.ended == nil {
		k.at, k.ended = m.at, make(map[string]int)
	}
	if l.Kind == timeline.KindPodNotReady && !ofDaemonSet(l.Pod) {
		p := m.pods[l.Pod]
		if count(&k.lives, p == nil || !m.nodes[l.Node].silent); p == nil { // evicted at the same instant, from a live node
			return
		}
		k.since[l.Pod], k.set[l.Pod] = m.at, p.set
		all := len(k.since)
		for _, n := range k.ended {
			all += n
		}
		k.most = max(k.most, all)
	}
	now := make(map[string]int)
	for name, since := range k.since {
		p := m.pods[name]
		switch gone := p == nil || p.terminating || !m.nodes[p.node].silent && !m.down; {
		case gone && since == m.at: // the line of an eviction comes before that of a mark, whose time is over with the instant
			k.left[name] = true
		case gone:
			k.end(m, name)
			delete(k.since, name)
			if l.Kind == timeline.KindEvict {
				k.ended[k.set[name]]++
			}
			continue
		}
		now[k.set[name]]++
	}
	for set, n := range now {
		w := k.workload(set)
		if l.Kind == timeline.KindPodNotReady && k.set[l.Pod] == set {
			n += k.ended[set]
		}
		w.MostEndpointsGone = max(w.MostEndpointsGone, n)
	}
}

func (k *naiveMarks) workload(set string) *WorkloadReport {
	if k.ofSet[set] == nil {
		k.ofSet[set] = &WorkloadReport{}
	}
	return k.ofSet[set]
}

func (k *naiveMarks) end(m *naive, name string) {
	took := m.at - k.since[name]
	if k.left[name] {
		took = 0
	}
	k.times = append(k.times, took)
	w := k.workload(k.set[name])
	w.LongestWithoutEndpoints = max(w.LongestWithoutEndpoints, took)
}

// tell sets the figures of a report and of its workloads. It says whether it knows them.
func (k *naiveMarks) tell(m *naive, r, got *Report) bool {
	for name := range k.since {
		k.end(m, name)
	}
	r.MostEndpointsGone, r.PodsWithoutEndpoints = k.most, len(k.set)
	if n := len(k.times); n > 0 {
		slices.Sort(k.times)
		r.MedianWithoutEndpoints, r.LongestWithoutEndpoints = k.times[(n-1)/2], k.times[n-1]
	}
	if k.lives > 0 {
		r.MostEndpointsGone, r.PodsWithoutEndpoints, r.RunningWithoutEndpoints = got.MostEndpointsGone, got.PodsWithoutEndpoints, got.RunningWithoutEndpoints
		r.MedianWithoutEndpoints, r.LongestWithoutEndpoints = got.MedianWithoutEndpoints, got.LongestWithoutEndpoints
	}
	for _, set := range k.set {
		k.workload(set).PodsWithoutEndpoints++
	}
	for i := range r.Workloads {
		w, of := &r.Workloads[i], k.workload(r.Workloads[i].Name)
		if k.lives > 0 {
			of = &got.Workloads[i]
		}
		w.PodsWithoutEndpoints, w.MostEndpointsGone, w.LongestWithoutEndpoints = of.PodsWithoutEndpoints, of.MostEndpointsGone, of.LongestWithoutEndpoints
	}
	return k.lives == 0 && len(k.times) > 0
}
