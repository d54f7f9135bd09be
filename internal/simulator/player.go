package simulator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/zone"
)

// Options say what a simulation reports while it runs.
type Options struct {
	// Line gets the timeline in its final order; nil drops it.
	Line func(scenario.Line) error
	// Progress gets the virtual time from time to time; nil means never.
	Progress func(at, until time.Duration)
	// Decision gets every decision; nil drops them.
	Decision func(evictor.Decision)
	// Points is the approximate number of steps in the report's Series; 0 means no Series.
	Points int
	// Started, if not nil, gets the cluster at time 0.
	Started func(*Cluster)
	// Happened, if not nil, gets the events on nodes, and the pods that come back.
	Happened func(Happening)
	// Subject, if not nil, makes the controller to simulate, at the start and at each restart. nil means our evictor.
	Subject func(World) (Subject, error)
	// Prefer is handed to our evictor.
	Prefer func(zone.Key, []string) string
	// Tune, if not nil, may change the configuration and options of each of our evictors, for example its zone policy or
	// budget. The report's settings do not show these changes.
	Tune func(*evictor.Config, *evictor.Options)
	// Wrap, if not nil, returns the Subject to drive in place of each of our evictors. It is called before the evictor's
	// first step.
	Wrap func(*evictor.Evictor, *Cluster) Subject
}

// Subject is what a simulation drives. Only the simulation calls its methods. It reports changes before it calls Step,
// which does what is due now and returns when to call it again; the zero time means when something else happens.
type Subject interface {
	NodeChanged(name string)
	PodChanged(key evictor.PodKey)
	LeaseRenewed(node string, at time.Time)
	Step(ctx context.Context) (next time.Time, err error)
}

// Happening is something that happens in the simulated world without the controller.
type Happening struct {
	At   time.Duration
	Node string
	Pod  evictor.PodKey // the pod that came back or was added; the zero key if the node is concerned
	Was  evictor.PodKey // the pod that it replaces, if it came back
	Kept evictor.PodKey // the pod that a drain may not evict; Pod and Was are then zero
	Gone evictor.PodKey // the deleted pod whose object is gone now; the others are then zero
	Text string
}

// player is one simulation.
type player struct {
	scenario *scenario.Scenario
	settings scenario.Settings
	options  Options
	cluster  *Cluster
	writer   *Writer
	subject  Subject
	report   Report
	seen     map[string]struct{}
	pending  []scenario.Line // the lines of one millisecond, to be sorted
	lineErr  error
	events   []scenario.Planned
	traces   []driver
	apiDown  bool
	next     time.Time // of the evictor; zero if nothing is due
	sampler  *sampler  // nil if Options.Points is 0
	drains   []drain
	rolls    []roll
	teller   teller
	heirs    map[[3]int][]successorOf // of replaceNode, by number, round and inner number of the event
	origin   time.Duration            // start of the evictor's process, from which its passes are counted
	acts     int                      // number of events made by controllers
}

// driver is a trace that decides which nodes of a zone are live.
type driver struct {
	number int // its number in the file, from 1
	key    zone.Key
	trace  *scenario.Trace
	scale  *int
	names  []string
	at     time.Duration // of the next sample that may differ; negative if there is none
}

var errAPIDown = apierrors.NewServiceUnavailable("the API is down")

// InvalidError has all faults of a scenario that was not played.
type InvalidError struct{ error }

// Unwrap returns the faults.
func (e *InvalidError) Unwrap() error { return e.error }

// Play checks the scenario against the cluster, which holds the objects of its files, and plays it.
func Play(ctx context.Context, s *scenario.Scenario, c *Cluster, options Options) (*Report, error) {
	if err := errors.Join(append([]error{s.Check(c.Inventory())}, CheckExpectations(s.Expect)...)...); err != nil {
		return nil, &InvalidError{err}
	}
	p := &player{scenario: s, settings: s.Settings(), options: options, cluster: c, seen: make(map[string]struct{})}
	c.bindClaims()
	c.knowJobs()
	p.report.Settings, p.report.NotSimulated = p.settings, c.notSimulated
	p.report.Until, p.report.Cancelled = p.settings.Until, make(map[string]int)
	if err := p.generate(); err != nil {
		return nil, err
	}
	p.report.Nodes, p.report.Pods = len(c.nodes), len(c.podByID)+len(c.unbound)
	p.report.FirstEviction = never
	c.happened = options.Happened
	p.sampler = newSampler(p.settings.Until, options.Points)
	p.report.DaemonSetPods = c.countPods()
	p.events = s.Plan()
	p.writer = &Writer{Cluster: c, Line: p.line, Before: func(context.Context, string, string) error {
		if p.apiDown {
			return errAPIDown
		}
		return nil
	}}
	p.tellSettings()
	p.writer.AskBudgets = p.settings.UseEvictionAPI && options.Subject == nil
	if err := p.restart(); err != nil {
		return nil, err
	}
	c.NodeChanged = func(name string) { p.subject.NodeChanged(name) }
	c.PodChanged = func(key evictor.PodKey) { p.subject.PodChanged(key) }
	c.Renewed = func(name string, at time.Time) { p.subject.LeaseRenewed(name, at) }
	c.Missed = func(name string, at time.Time) {
		if reads, ok := p.subject.(interface{ LeaseMissed(string, time.Time) }); ok { // an API server that shows it to whoever reads
			reads.LeaseMissed(name, at)
		}
	}
	c.Late = func(name string, at time.Time) {
		if shows, ok := p.subject.(interface{ LeaseShown(string, time.Time) }); ok {
			shows.LeaseShown(name, at)
			return
		}
		p.subject.LeaseRenewed(name, at)
	}
	if p.settings.Reschedule {
		c.indexLoad()
		c.awaitUnbound(p.settings.RescheduleAfter)
	}
	c.StartKubelets(p.settings.HeartbeatInterval, p.settings.StatusInterval, p.settings.Spread != scenario.SpreadNone)
	if err := p.drivers(); err != nil {
		return nil, err
	}
	if options.Started != nil {
		options.Started(c)
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	return p.finish()
}

// generate adds the zones of the scenario.
func (p *player) generate() error {
	c := p.cluster
	nodes, pods := 0, 0
	for _, z := range p.scenario.Cluster.Zones {
		nodes, pods = nodes+z.Nodes, pods+z.Nodes*(z.PodsPerNode+z.DaemonSetPodsPerNode)
	}
	c.Reserve(nodes, pods)
	for i := range p.scenario.Cluster.Zones {
		if err := p.addZone(&p.scenario.Cluster.Zones[i]); err != nil {
			return err
		}
	}
	return nil
}

// restart starts a new controller, which knows nothing.
func (p *player) restart() (err error) {
	p.origin = p.cluster.Clock.Elapsed()
	p.cluster.ForgetHeld()
	if p.options.Subject != nil {
		p.subject, err = p.options.Subject(World{p.settings, p.cluster, p.writer, p.observe, p.act})
		return err
	}
	s := p.settings
	cfg := evictor.DefaultConfig()
	cfg.NodeMonitorPeriod, cfg.NodeMonitorGracePeriod, cfg.NodeStartupGracePeriod = s.NodeMonitorPeriod, s.NodeMonitorGracePeriod, s.NodeStartupGracePeriod
	cfg.NodeEvictionRate, cfg.SecondaryNodeEvictionRate = s.NodeEvictionRate, s.SecondaryNodeEvictionRate
	cfg.LargeClusterSizeThreshold, cfg.UnhealthyZoneThreshold = s.LargeClusterSizeThreshold, s.UnhealthyZoneThreshold
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = s.TaintBasedEviction, s.PodEvictionTimeout
	cfg.ExplainSize = 0
	options := evictor.Options{Clock: p.cluster.Clock, Observer: evictor.ObserverFunc(p.observe), Prefer: p.options.Prefer}
	if p.options.Tune != nil {
		p.options.Tune(&cfg, &options)
	}
	e, err := evictor.New(cfg, evictor.Clients{Nodes: p.cluster, Pods: p.cluster, NodeWriter: p.writer, PodWriter: p.writer, Confirmer: evictor.ConfirmFunc(p.confirm)}, options)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	p.subject = e
	if p.options.Wrap != nil {
		p.subject = p.options.Wrap(e, p.cluster)
	}
	for i := range p.cluster.nodes { // as informers report what they list; the evictor decides nothing before the first event
		if n := &p.cluster.nodes[i]; !n.deleted {
			e.NodeChanged(n.name)
		}
	}
	return nil
}

// confirm reads a suspect's lease from the API.
func (p *player) confirm(ctx context.Context, suspect evictor.Suspect) (evictor.Answer, error) {
	if p.apiDown {
		return evictor.Unanswered, errAPIDown
	}
	return p.cluster.Confirm(ctx, suspect)
}

func (p *player) observe(d evictor.Decision) {
	if p.options.Decision != nil {
		p.options.Decision(d)
	}
	p.teller.decided(&d)
	if l, ok := LineOf(d); ok {
		if d.Kind == evictor.EvictionCancelled {
			p.report.Cancelled[d.Reason]++
			l.More = because(d.Reason)
		}
		p.line(l)
	}
}

// line collects the lines of one millisecond. flush writes them in order.
func (p *player) line(l scenario.Line) {
	p.report.note(l, p.seen)
	p.cluster.limits(&l)
	if p.options.Line == nil {
		return
	}
	if len(p.pending) > 0 && scenario.Compare(scenario.Line{T: l.T}, scenario.Line{T: p.pending[0].T}) != 0 {
		p.flush()
	}
	p.pending = append(p.pending, l)
}

func (p *player) flush() {
	slices.SortStableFunc(p.pending, scenario.Compare)
	for _, l := range p.pending {
		if err := p.options.Line(l); err != nil && p.lineErr == nil {
			p.lineErr = fmt.Errorf("timeline: %w", err)
		}
	}
	p.pending = p.pending[:0]
}

func (p *player) finish() (*Report, error) {
	p.flush()
	c, r := p.cluster, &p.report
	if p.sampler != nil {
		p.sampler.holds(p, p.settings.Until+1)
	}
	c.stats.stranded(int64(p.settings.Until), 0)
	r.TaintedNodes, r.KubeletFailures = len(p.seen), c.stats.failures
	r.EvictedFromLiveNodes, r.Delays = c.stats.fromLive, delaysOf(c.stats.delays)
	r.ReturnedPods, r.Waiting = c.stats.returned, c.waiting.len()
	r.CameBackNodes, r.CameBackPods = c.stats.beforeNodes, c.stats.beforeTurn
	r.Left = c.left(p.settings.TaintBasedEviction)
	r.EvictedWhileRunning, r.RemovedWhileRunning = c.stats.running, c.stats.forgotten
	r.NeedlessEvictions, r.LostEvictions = c.stats.needless, c.overdueAtEnd()
	r.PendingAtEnd, r.MostPending, r.Unplaced = c.waiting.count, c.stats.mostPending, c.reportUnplaced()
	r.FailedJobs, r.PendingThatCouldPreempt = c.reportJobs(), c.couldPreempt()
	r.TerminatingAtEnd, r.MostTerminating = c.stats.terminating, c.stats.mostTerminating
	r.MostEndpointsGone = c.stats.mostWithheld
	r.ByZone = c.reportZones()
	for i := range r.ByZone {
		if z := &r.ByZone[i]; z.Evicted > 0 {
			r.FirstEviction, r.LastEviction = min(r.FirstEviction, z.FirstEviction), max(r.LastEviction, z.LastEviction)
		}
	}
	if r.Evicted == 0 {
		r.FirstEviction = 0
	}
	r.Workloads, r.Budgets = c.levels.report(c.now())
	r.AnyBelowHalf = c.levels.anyBelowHalf(c.now())
	r.sumUp()
	if p.sampler != nil {
		r.Series = p.sampler.end(p)
	}
	for i := range p.events {
		if number := p.events[i].Number; number > 0 { // negative numbers are events made by controllers
			r.After = append(r.After, number)
		}
	}
	slices.Sort(r.After)
	r.After = slices.Compact(r.After) // several rounds have the same number
	r.PodHoursLost = c.stats.integral / 3600
	return r, p.lineErr
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

var reborn = regexp.MustCompile(`-r([1-9][0-9]*)$`)

// successor returns the name under which an evicted pod comes back.
func successor(name string) string {
	if m := reborn.FindStringSubmatchIndex(name); m != nil {
		if n, err := strconv.ParseInt(name[m[2]:m[3]], 10, 63); err == nil {
			return name[:m[0]] + "-r" + strconv.FormatInt(n+1, 10)
		}
	}
	return name + "-r1"
}
