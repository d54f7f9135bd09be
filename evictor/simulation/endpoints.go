package simulation

import (
	"slices"
	"time"
)

// endpoints follows the pods that the controller has marked not Ready, which takes them out of the endpoints of their
// services.
type endpoints struct {
	since         map[int32]int64 // when each was marked, by its place in cluster.pods
	times         []time.Duration // how long, of those that are no longer
	pods, running int             // different pods that were marked, and those of them that ran meanwhile
	now, most     int
}

func (c *cluster) marks(i int32, by int) { c.nodes[c.pods[i].node].marked += int32(by) } //nolint:gosec // 1 or -1

// withoutEndpoints counts a pod that the controller has marked not Ready, or that no longer is.
func (c *cluster) withoutEndpoints(i int32, by int) {
	p, e, w := &c.pods[i], &c.endpoints, c.workloadOf(&c.pods[i])
	e.now += by
	if w != nil {
		w.marks(by, by > 0 && !p.wasMarked)
	}
	if by < 0 {
		took := c.now() - e.since[i]
		e.times = append(e.times, time.Duration(took))
		delete(e.since, i)
		if w != nil {
			w.longestMarked = max(w.longestMarked, took)
		}
		return
	}
	e.since[i], e.most = c.now(), max(e.most, e.now)
	runs := !c.nodes[p.node].failed || c.runsOn(p)
	if runs && !p.wasMarkedRunning {
		e.running++
	}
	if !p.wasMarked {
		e.pods++
	}
	p.wasMarked, p.wasMarkedRunning = true, p.wasMarkedRunning || runs
}

// workloadOf returns the workload that a pod counts for, nil if there is none.
func (c *cluster) workloadOf(p *pod) *workload {
	if p.member == 0 || c.levels.members[p.member-1].workload < 0 {
		return nil
	}
	return &c.levels.workloads[c.levels.members[p.member-1].workload]
}

// marks counts a pod of the workload that is marked (1), or no longer (-1).
func (w *workload) marks(by int, first bool) {
	w.marked += by
	w.mostMarked = max(w.mostMarked, w.marked)
	if first {
		w.everMarked++
	}
}

// reportEndpoints ends the times of all pods that are marked now. Nothing may happen to pods afterwards.
func (c *cluster) reportEndpoints(r *Report) {
	e := &c.endpoints
	for i, since := range e.since {
		took := c.now() - since
		e.times = append(e.times, time.Duration(took))
		if w := c.workloadOf(&c.pods[i]); w != nil {
			w.longestMarked = max(w.longestMarked, took)
		}
	}
	r.MostEndpointsGone, r.PodsWithoutEndpoints, r.RunningWithoutEndpoints = e.most, e.pods, e.running
	if n := len(e.times); n > 0 {
		slices.Sort(e.times)
		r.MedianWithoutEndpoints, r.LongestWithoutEndpoints = e.times[(n-1)/2], e.times[n-1]
	}
}
