package simulation

import (
	"slices"
	"time"
)

// Unserved are pods that were marked not Ready, so that services did not send them requests.
type Unserved struct {
	PodsWithoutEndpoints    int           `figure:""` // different ones
	MostEndpointsGone       int           `figure:""` // that were marked and not deleted, at the worst time
	LongestWithoutEndpoints time.Duration `figure:""`
}

// unserved counts them.
type unserved struct {
	Unserved
	marked int // now
}

// marks counts a pod that is marked (1), or no longer (-1).
func (u *unserved) marks(by int, first bool) {
	u.marked += by
	u.MostEndpointsGone = max(u.MostEndpointsGone, u.marked)
	if first {
		u.PodsWithoutEndpoints++
	}
}

// endpoints follows the pods that the controller has marked not Ready, which takes them out of the endpoints of their
// services.
type endpoints struct {
	unserved
	since   map[int32]int64 // when each was marked, by its place in cluster.pods
	times   []time.Duration // how long, of those that are no longer
	running int             // different pods that ran while they were marked
}

func (c *cluster) marks(i int32, by int) { c.nodes[c.pods[i].node].marked += int32(by) } //nolint:gosec // 1 or -1

// withoutEndpoints counts a pod that the controller has marked not Ready, or that no longer is.
func (c *cluster) withoutEndpoints(i int32, by int) {
	p, e := &c.pods[i], &c.endpoints
	first := by > 0 && !p.wasMarked
	e.marks(by, first)
	if w := c.workloadOf(p); w != nil {
		w.marks(by, first)
	}
	if by < 0 {
		c.served(i)
		delete(e.since, i)
		return
	}
	e.since[i] = c.now()
	runs := !c.nodes[p.node].failed || c.runsOn(p)
	if runs && !p.wasMarkedRunning {
		e.running++
	}
	p.wasMarked, p.wasMarkedRunning = true, p.wasMarkedRunning || runs
}

// served notes for how long a pod was marked.
func (c *cluster) served(i int32) {
	e := &c.endpoints
	took := time.Duration(c.now() - e.since[i])
	e.times, e.LongestWithoutEndpoints = append(e.times, took), max(e.LongestWithoutEndpoints, took)
	if w := c.workloadOf(&c.pods[i]); w != nil {
		w.LongestWithoutEndpoints = max(w.LongestWithoutEndpoints, took)
	}
}

// workloadOf returns the workload that a pod counts for, nil if there is none.
func (c *cluster) workloadOf(p *pod) *workload {
	if p.member == 0 || c.levels.members[p.member-1].workload < 0 {
		return nil
	}
	return &c.levels.workloads[c.levels.members[p.member-1].workload]
}

// reportEndpoints ends the times of all pods that are marked now. Nothing may happen to pods afterwards.
func (c *cluster) reportEndpoints(r *Report) {
	e := &c.endpoints
	for i := range e.since {
		c.served(i)
	}
	r.Unserved, r.RunningWithoutEndpoints = e.Unserved, e.running
	if n := len(e.times); n > 0 {
		slices.Sort(e.times)
		r.MedianWithoutEndpoints = e.times[(n-1)/2]
	}
}
