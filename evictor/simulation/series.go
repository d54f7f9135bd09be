package simulation

import (
	"bytes"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// The states of a node in a Series.
const (
	stateLive     = iota // reports, and counts as Ready
	stateSilent          // its kubelet does not report, and no verdict says so yet
	stateWaiting         // not Ready, and not yet tainted
	stateTainted         // not Ready, and tainted NoExecute for it
	stateReturned        // reports again, but still counts as not Ready
)

// Series is the course of a simulation, at equal steps from 0 on.
type Series struct {
	Step time.Duration
	// Zones has, by the name of the zone, how many of its nodes were in each state: live, silent and not yet noticed, waiting for their
	// taint, tainted, and back but not yet cleared.
	Zones map[string]*[5][]int

	Without     []int // pods without a live node
	Marked      []int // pods that were marked not Ready
	Pending     []int
	Held        []int // pods that are not created, as in Report.HeldByOrder
	Terminating []int
	Evicted     []int // since the start
	Tainted     []int // how often a node was tainted, since the start
	// Peaks are of Without, Marked, Pending, Held and Terminating, in this order. A peak may lie between two steps.
	Peaks   [5]int
	PeaksAt [5]time.Duration // when each was first reached
	// Workloads are in the order of the report's. Each has the live pods in percent of those desired, at every fourth
	// step.
	Workloads [][]byte
	// BelowBudget is 1 wherever a PodDisruptionBudget of a workload is not kept, at the same times as Workloads; nil for a
	// workload without a budget.
	BelowBudget [][]byte
	// Delays are the percentiles 0 to 100 of the time from silence to eviction; nil if nothing was evicted from silent
	// nodes.
	Delays []time.Duration
	// Touched are the nodes that each event of the scenario touched, in the order of time, as long as they are not too many.
	Touched []Touched
}

// Touched has the nodes to which an event of the scenario happened, and their zones.
type Touched struct {
	Place
	Nodes, Zones []string
}

// mostTouched is the largest number of names in Series.Touched.
const mostTouched = 200_000

// workloadEvery is how many steps there are between two values of a workload.
const workloadEvery = 4

// sampler fills a Series.
type sampler struct {
	series *Series
	next   time.Duration
	levels [][]byte // by the cluster's number of the workload
	below  [][]byte // whether its budgets are not kept, likewise

	touched int           // names in Series.Touched
	since   time.Duration // of what is so now
}

func newSampler(until time.Duration, points int) *sampler {
	if points <= 0 {
		return nil
	}
	return &sampler{series: &Series{Step: max(until/time.Duration(points), time.Second), Zones: make(map[string]*[5][]int)}}
}

// happens records which nodes an event touched.
func (s *sampler) happens(c *cluster, e *Planned, nodes []string) {
	if s == nil || e.Number <= 0 || e.registers || len(nodes) == 0 || s.touched+len(nodes) > mostTouched {
		return
	}
	s.touched += len(nodes)
	s.series.Touched = append(s.series.Touched, Touched{e.Place, slices.Clone(nodes), c.zonesOf(nodes)})
}

// zonesOf returns the names of the zones of nodes that exist, or did.
func (c *cluster) zonesOf(nodes []string) (zones []string) {
	for _, name := range nodes {
		i, exists := c.nodeByID[name]
		if !exists {
			i = int32(slices.IndexFunc(c.nodes, func(n node) bool { return n.Name == name })) //nolint:gosec // a place
		}
		if i < 0 {
			continue
		}
		if zone := c.nodes[i].zone.String(); !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	slices.Sort(zones)
	return zones
}

// counts are what Series.Peaks is about, as of now.
func (s *sampler) counts(c *cluster) [5]int {
	return [5]int{(c.stats.count + whole/2) / whole, c.endpoints.marked, c.waiting.count, c.setController.Waiting(), c.stats.TerminatingAtEnd}
}

// holds records that nothing changes until then.
func (s *sampler) holds(p *player, until time.Duration) {
	if until > s.since {
		for i, n := range s.counts(p.cluster) {
			if n > s.series.Peaks[i] {
				s.series.Peaks[i], s.series.PeaksAt[i] = n, s.since
			}
		}
		s.since = until
	}
	for ; s.next < until; s.next += s.series.Step {
		s.sample(p)
	}
}

func (s *sampler) sample(p *player) {
	c, to := p.cluster, s.series
	points := len(to.Without)
	s.nodes(c, points)
	now := s.counts(c)
	for i, list := range [...]*[]int{&to.Without, &to.Marked, &to.Pending, &to.Held, &to.Terminating} {
		*list = append(*list, now[i])
	}
	to.Evicted = append(to.Evicted, p.report.Evicted)
	to.Tainted = append(to.Tainted, p.report.Taints)
	if points%workloadEvery != 0 {
		return
	}
	s.knowWorkloads(c, points/workloadEvery)
	for i := range c.levels.workloads {
		w := &c.levels.workloads[i]
		share := byte(100)
		if w.desired > 0 {
			share = byte(100 * max(w.have, 0) / max(w.desired, w.have, 1))
		}
		s.levels[i], s.below[i] = append(s.levels[i], share), append(s.below[i], byte(min(w.broken.count, 1)))
	}
}

// knowWorkloads begins the series of those that are new: so many samples before they existed, in which nothing lacked.
func (s *sampler) knowWorkloads(c *cluster, before int) {
	for len(s.levels) < len(c.levels.workloads) {
		s.levels, s.below = append(s.levels, bytes.Repeat([]byte{100}, before)), append(s.below, make([]byte, before))
	}
}

// nodes counts the states.
func (s *sampler) nodes(c *cluster, points int) {
	zones := s.series.Zones
	for _, states := range zones { // those too that have lost all their nodes
		for k := range states {
			states[k] = append(states[k], 0)
		}
	}
	for i := range c.nodes {
		n := &c.nodes[i]
		if n.Deleted {
			continue
		}
		name := n.zone.String()
		if zones[name] == nil {
			zones[name] = new([5][]int)
			for k := range zones[name] {
				zones[name][k] = make([]int, points+1)
			}
		}
		zones[name][n.state()][points]++
	}
}

func (n *node) state() int {
	ready := placement.FindCondition(n.Conditions, v1.NodeReady)
	bad := ready >= 0 && n.Conditions[ready].Status != v1.ConditionTrue
	switch {
	case tainted(n) && (n.failed || bad):
		return stateTainted
	case tainted(n):
		return stateReturned
	case bad:
		return stateWaiting
	case n.failed:
		return stateSilent
	default:
		return stateLive
	}
}

// end returns the series of the report's workloads, and the sorted delays.
func (s *sampler) end(p *player) *Series {
	c := p.cluster
	s.knowWorkloads(c, (len(s.series.Without)+workloadEvery-1)/workloadEvery)
	for i := range p.report.Workloads {
		w := &p.report.Workloads[i]
		number := c.levels.byKey[workloadKey{w.Namespace, w.Kind, w.Name}]
		below := s.below[number]
		if w.Budgets == 0 {
			below = nil
		}
		s.series.Workloads, s.series.BelowBudget = append(s.series.Workloads, s.levels[number]), append(s.series.BelowBudget, below)
	}
	if n := len(c.stats.delays); n > 0 {
		for percent := range 101 {
			s.series.Delays = append(s.series.Delays, c.stats.delays[max((percent*n+99)/100-1, 0)])
		}
	}
	return s.series
}
