package simulation

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/taints"
)

// stats are counted while the simulation runs.
type stats struct {
	*Report                     // what is counted for it at once
	delays      []time.Duration // from a node's silence to the eviction
	count       int             // pods without a live node now, in thousandths, because a share of the clients may reach some
	since       int64           // when that last changed
	integral    float64
	fullest     int // the most pods on a node that takes any number, and its name
	fullestNode string
}

// terminates counts a deleted pod that still exists.
func (c *cluster) terminates(_ int32, by int) {
	r := c.stats.Report
	r.TerminatingAtEnd += by
	r.MostTerminating = max(r.MostTerminating, r.TerminatingAtEnd)
}

// whole is one pod, or all clients, in thousandths.
const whole = 1000

// lacks changes the number of pods without a live node, in thousandths of a pod.
func (s *stats) lacks(now int64, by int) {
	s.integral += float64(s.count) / whole * time.Duration(now-s.since).Seconds()
	s.count, s.since = s.count+by, now
}

// recovered counts the pods of a node that came back before anything was done to it.
func (s *stats) recovered(n *node) {
	if pods := int(n.Pods - n.finished); !n.wasTainted && pods > 0 {
		s.CameBackPods += pods
		s.CameBackNodes++
	}
}

func tainted(n *node) bool {
	return slices.ContainsFunc(n.Taints, func(t v1.Taint) bool { return taints.OwnNoExecute(&t) })
}

// delayed reports the delays of evictions, and sorts them.
func (r *Report) delayed(all []time.Duration) {
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(percent*len(all)+99)/100-1] } // the least that so many do not exceed
	r.Delayed, r.EvictionDelayMedian, r.EvictionDelayP99, r.EvictionDelayWorst = len(all), at(50), at(99), all[len(all)-1]
}
