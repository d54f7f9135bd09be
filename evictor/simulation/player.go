package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
	"github.com/evictkit/evictkit/evictor/simulation/timeline"
	"github.com/evictkit/evictkit/internal/outside"
)

// Happening is something that happens in the simulated world without the controllers.
type Happening struct {
	At   time.Duration
	Node string
	Pod  evictor.PodKey // the pod that came back or was added; the zero key if the node is concerned
	Was  evictor.PodKey // the pod that it replaces, if it came back
	Kept evictor.PodKey // the pod that a drain may not evict; Pod and Was are then zero
	Gone evictor.PodKey // the deleted pod whose object is gone now; the others are then zero
	Text string
	// Silent says whether the node's kubelet does not reach the API now.
	Silent bool
}

// player is one simulation.
type player struct {
	scenario  *Scenario
	starts    []Start
	cluster   *cluster
	writer    *writer
	world     *World
	report    *Report
	seen      map[string]struct{}
	pending   []timeline.Line // the lines of one millisecond, to be sorted
	lineErr   error
	events    []Planned
	traces    []driver
	ongoing   []process
	restarts  bool // an event restarts the controllers
	apiDown   bool
	answer    string // to writes, as in API.Answer; empty while they succeed
	guard     guard
	leader    leader
	postponed []Planned // events that wait for the API
	driven    bool      // a program moves the world, so that nothing collects lines until their millisecond is over
	next      time.Time // of the controllers; zero if nothing is due
	sampler   *sampler  // nil if Scenario.Points is 0
	drains    []*drain
	rolls     []roll
	teller    teller
	heldBack  heldBack
	acts      int // number of events made by controllers
}

var errAPIDown = apierrors.NewServiceUnavailable("the API is down")

// Play plays the scenario with the given controllers and reports the result. Without controllers, one evictor acts.
// Controllers are made and stepped in the given order. Play stops when the context ends. The error is what Faults
// returns if the scenario has faults, or that of a controller, of Read, of Timeline or of the context. Whatever does not depend on
// what happens is checked first: fields, and names of nodes, pods and zones that never exist. An event that cannot happen
// at its time, such as one on a node that has been deleted, ends the simulation then.
func Play(ctx context.Context, s Scenario, controllers ...Start) (*Report, error) {
	c := newCluster(clockOf(s.Clock))
	c.outside.Parts = outside.From(ctx)
	return s.playOn(ctx, c, controllers...)
}

// playOn plays the scenario on a cluster that may have objects already.
func (s Scenario) playOn(ctx context.Context, c *cluster, controllers ...Start) (*Report, error) {
	if len(controllers) == 0 {
		controllers = []Start{func(w *World) (Controller, error) { return w.NewEvictor(evictor.Options{}) }}
	}
	p, err := s.player(c, controllers)
	if err == nil {
		err = p.begin()
	}
	if err == nil {
		err = p.run(ctx)
	}
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	return p.report, nil
}

// New returns the world of a scenario at time 0, for a program that moves time itself, with the scenario's Clock, World.Next
// and World.Turn, and steps its own controllers. There are no Events and Traces: World.Do makes things happen. Pods are not
// replaced, drains do not go on, and the pods of a deleted node go with it, because nobody collects garbage.
func New(s Scenario) (*World, error) {
	s.Events, s.Traces, s.ReplaceAfter = nil, nil, -1
	s.Until = max(s.Until, 1)
	p, err := s.player(newCluster(clockOf(s.Clock)), nil)
	if err == nil {
		p.driven = true
		err = p.begin() // this makes the world that the program gets
	}
	if err != nil {
		return nil, fmt.Errorf("simulation: %w", err)
	}
	return p.world, nil
}

// player adds the scenario's objects and zones to the cluster, and checks it.
func (s Scenario) player(c *cluster, starts []Start) (*player, error) {
	s = s.WithDefaults()
	p := &player{scenario: &s, starts: starts, cluster: c, report: c.stats.Report, seen: make(map[string]struct{}), leader: newLeader()}
	p.cluster.readyAfter = int64(s.ReadyAfter)
	if err := s.fill(p.cluster); err != nil {
		return nil, invalidError{{error: err}}
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := p.lentTo(c.outside.Parts); err != nil {
		return nil, err
	}
	p.writer = newWriter(p)
	p.makeWorkloads()
	p.ongoing, p.world = p.processes(), &World{player: p}
	return p, nil
}

// begin tells the objects at time 0, and starts the kubelets.
func (p *player) begin() error {
	c, s := p.cluster, p.scenario
	c.bindClaims()
	c.noteJobs()
	p.report.NotSimulated, p.report.Until, p.report.Cancelled = c.notSimulated, s.Until, make(map[string]int)
	if s.Happened != nil {
		c.happened = func(h Happening) {
			h.Silent = c.Failed(h.Node)
			s.Happened(h)
		}
	}
	c.comparing = p.playsOutages()
	p.sampler = newSampler(s.Until, s.Points)
	p.report.Nodes, p.report.DaemonSetPods = len(c.nodes), c.countPods()
	p.report.Pods = len(c.podByID) + len(c.unbound) - p.report.DaemonSetPods
	if !p.driven {
		p.tellSettings()
	}
	if err := p.restart(); err != nil {
		return err
	}
	if s.ReplaceAfter >= 0 {
		c.replacePods()
		c.startWorkloads()
		c.awaitUnbound(s.ReplaceAfter)
	}
	if c.collects = !p.driven; c.collects {
		c.endDeleted()
	}
	c.StartKubelets(s.LeaseInterval, s.StatusInterval, !s.LeasesTogether)
	c.notReadyFor = int64(s.NotReadyFor) // of those that start later
	return nil
}

// finish completes the report.
func (p *player) finish() error {
	p.endOutside()
	p.endDrains()
	p.flush()
	c, r := p.cluster, p.report
	if p.sampler != nil {
		p.sampler.holds(p, p.scenario.Until+1)
	}
	c.stats.lacks(int64(p.scenario.Until), 0)
	r.TaintedNodes = len(p.seen)
	r.Left, r.NotEvicted = p.left()
	r.delayed(c.stats.delays)
	r.Waiting = c.waiting.len() + c.setController.Waiting() + c.jobController.Waiting() + len(c.outside.pods) + len(c.outside.early)
	r.HeldByOrder, r.MostHeld = c.setController.Waiting(), c.setController.Most()
	r.WritesWouldWait = p.writer.sender.Longest()
	r.LostEvictions = c.overdueAtEnd()
	r.PendingAtEnd, r.Unplaced = c.waiting.count, c.reportUnplaced()
	r.FailedJobs, r.PendingThatCouldPreempt = c.reportJobs(), c.couldPreempt()
	c.reportEndpoints(r)
	r.Refusals = c.reportRefusals()
	r.HeldBack = p.heldBack.report(c.Clock.Elapsed(), c.stillThere)
	r.NotSimulated = c.notSimulated
	r.Understated = understated(c.notSimulated, p.scenario.ReplaceAfter >= 0)
	r.Zones = c.reportZones()
	r.Workloads, r.Budgets = c.levels.report(c.now())
	c.levels.halved.pass(c.now(), 0)
	r.AnyBelowHalf = time.Duration(c.levels.halved.took)
	r.sumUp()
	if p.sampler != nil {
		r.Series = p.sampler.end(p)
	}
	for i := range p.postponed {
		r.After = append(r.After, p.postponed[i].Number)
	}
	for i := range p.events {
		if e := &p.events[i]; e.Number > 0 && !e.registers { // negative numbers are events made by controllers, and what a replaced node does has begun
			r.After = append(r.After, e.Number)
		}
	}
	slices.Sort(r.After)
	r.After = slices.Compact(r.After) // several rounds have the same number
	r.PodHoursLost = c.stats.integral / 3600
	p.warnOfLabels()
	p.warnOfRoom()
	return p.lineErr
}

// sumUp adds the figures of the cluster that follow from those of workloads and budgets.
func (r *Report) sumUp() {
	r.LowestReadyShare = 1
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if w.BelowHalf > 0 {
			r.WorkloadsBelowHalf++
		}
		r.SumBelowHalf += w.BelowHalf
		r.PodHoursMissing += w.PodHoursMissing
		r.LongestBelowHalf, r.LowestReadyShare = max(r.LongestBelowHalf, w.LongestBelowHalf), min(r.LowestReadyShare, w.LowestReadyShare)
	}
	for i := range r.Budgets {
		b := &r.Budgets[i]
		if b.Below > 0 {
			r.BudgetsBroken++
		}
		r.SumBelowBudget += b.Below
		r.LongestBelowBudget = max(r.LongestBelowBudget, b.LongestBelow)
	}
}

// warnOfRoom notes that a node whose room is not known had more pods than a kubelet takes.
func (p *player) warnOfRoom() {
	if s := &p.cluster.stats; s.fullest > placement.UsualPods {
		p.report.Warnings = append(p.report.Warnings, fmt.Sprintf(
			"node %s had %d pods, because it states no capacity: a kubelet takes %d unless its maxPods says otherwise, as capacity: {pods: %d} plays", s.fullestNode, s.fullest, placement.UsualPods, placement.UsualPods))
	}
}
