package simulator

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/zone"
)

// Options say what a simulation tells while it runs.
type Options struct {
	// Line gets the timeline in its final order; nil drops it.
	Line func(scenario.Line) error
	// Progress is called now and then with how far it is; nil means never.
	Progress func(at, until time.Duration)
	// Decision gets every decision; nil drops them.
	Decision func(evictor.Decision)
	// Subject, when not nil, makes the controller that is to be driven, at the start and at each restart;
	// nil means our evictor.
	Subject func(scenario.Settings, *Cluster, *Writer) (Subject, error)
	// Prefer is handed to our evictor.
	Prefer func(zone.Key, []string) string
	// Wrap, when not nil, stands between the simulation and each of our evictors, before its first step.
	Wrap func(*evictor.Evictor, *Cluster) Subject
}

// Subject is what a simulation drives. Every method is called by the simulation only. What changes is
// told before Step, which does what is due now and says when to call it again; the zero time means not
// before something else happens.
type Subject interface {
	NodeChanged(name string)
	PodChanged(key evictor.PodKey)
	LeaseRenewed(node string, at time.Time)
	Step(ctx context.Context) (next time.Time, err error)
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
	pending  []scenario.Line // of one millisecond, to be sorted
	lineErr  error
	events   []numbered
	traces   []driver
	apiDown  bool
	next     time.Time     // of the evictor; zero: nothing is due
	origin   time.Duration // of the evictor's passes: when its process began
}

// numbered is an event with its place in the file, counted from 1.
type numbered struct {
	scenario.Event
	number int
}

// driver lets a trace decide which nodes of a zone are alive.
type driver struct {
	key   zone.Key
	trace *scenario.Trace
	scale *int
	names []string
	at    time.Duration // of the next sample that may differ; negative: none
}

// Play checks the scenario against the cluster, which holds the objects of its files, and plays it.
func Play(ctx context.Context, s *scenario.Scenario, c *Cluster, options Options) (*Report, error) {
	if err := s.Check(c.Inventory()); err != nil {
		return nil, err
	}
	p := &player{scenario: s, settings: s.Settings(), options: options, cluster: c, seen: make(map[string]struct{})}
	p.report.Settings, p.report.NotSimulated = p.settings, c.notSimulated
	p.report.Until, p.report.Cancelled = p.settings.Until, make(map[string]int)
	if err := p.generate(); err != nil {
		return nil, err
	}
	p.report.Nodes, p.report.Pods = len(c.nodes), c.podIndex.Len()
	for i, e := range s.Events {
		p.events = append(p.events, numbered{e, i + 1})
	}
	slices.SortStableFunc(p.events, func(a, b numbered) int { return cmp.Compare(a.Time(), b.Time()) })
	p.writer = &Writer{Cluster: c, Line: p.line, Before: func(context.Context, string, string) error {
		if p.apiDown {
			return apierrors.NewServiceUnavailable("the API is down")
		}
		return nil
	}}
	c.NodeChanged = func(name string) { p.subject.NodeChanged(name) }
	c.PodChanged = func(key evictor.PodKey) { p.subject.PodChanged(key) }
	c.Renewed = func(name string, at time.Time) { p.subject.LeaseRenewed(name, at) }
	if err := p.restart(); err != nil {
		return nil, err
	}
	if p.settings.Reschedule {
		c.indexLoad(p.settings.Edition)
	}
	c.StartKubelets(p.settings.HeartbeatInterval, p.settings.StatusInterval, p.settings.Spread != scenario.SpreadNone)
	if err := p.drivers(); err != nil {
		return nil, err
	}
	if err := p.run(ctx); err != nil {
		return nil, err
	}
	return p.finish()
}

// generate adds the zones that the scenario describes.
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

func (p *player) addZone(z *scenario.Zone) error {
	c := p.cluster
	shared := c.spec(PodSpec{OwnerKind: "ReplicaSet", OwnerName: z.Name, Tolerations: tolerations(z.TolerationSeconds, p.settings)})
	daemonShared := c.spec(PodSpec{OwnerKind: "DaemonSet", OwnerName: z.Name, Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}}})
	labels := zoneLabels(zone.Key(z.Key()))
	for k := range z.Nodes {
		name := z.NodeName(k)
		if err := c.addNode(node{name: name, labels: labels, created: stamp(0), conditions: healthy, reported: 0}); err != nil {
			return err
		}
		for q := range z.PodsPerNode {
			if err := p.addFresh(scenario.PodName(name, q), name, shared); err != nil {
				return err
			}
		}
		for q := range z.DaemonSetPodsPerNode {
			if err := p.addFresh(scenario.DaemonSetPodName(name, q), name, daemonShared); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFresh adds a Ready pod of namespace default.
func (p *player) addFresh(name, node string, spec *PodSpec) error {
	c := p.cluster
	return c.addPod(c.id(evictor.PodKey{Namespace: "default", Name: name}), pod{spec: spec, ready: true, bound: c.now()}, node)
}

// tolerations are those that the API server adds by default, with these seconds; nil means the settings'.
func tolerations(given *scenario.TolerationSeconds, s scenario.Settings) []v1.Toleration {
	seconds := s.TolerationSeconds
	if given != nil {
		seconds = *given
	}
	if seconds == scenario.NoToleration {
		return nil
	}
	one := func(key string) v1.Toleration {
		plain := int64(seconds)
		return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &plain}
	}
	return []v1.Toleration{one(v1.TaintNodeNotReady), one(v1.TaintNodeUnreachable)}
}

// restart begins a new controller that knows nothing.
func (p *player) restart() (err error) {
	p.origin = p.cluster.Clock.Elapsed()
	if p.options.Subject != nil {
		p.subject, err = p.options.Subject(p.settings, p.cluster, p.writer)
		return err
	}
	s := p.settings
	cfg := evictor.DefaultConfig()
	cfg.NodeMonitorPeriod, cfg.NodeMonitorGracePeriod, cfg.NodeStartupGracePeriod = s.NodeMonitorPeriod, s.NodeMonitorGracePeriod, s.NodeStartupGracePeriod
	cfg.NodeEvictionRate, cfg.SecondaryNodeEvictionRate = s.NodeEvictionRate, s.SecondaryNodeEvictionRate
	cfg.LargeClusterSizeThreshold, cfg.UnhealthyZoneThreshold = s.LargeClusterSizeThreshold, s.UnhealthyZoneThreshold
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = s.TaintBasedEviction, s.PodEvictionTimeout
	cfg.ExplainSize = 0
	e, err := evictor.New(cfg, evictor.Clients{Nodes: p.cluster, Pods: p.cluster, NodeWriter: p.writer, PodWriter: p.writer},
		evictor.Options{Clock: p.cluster.Clock, Observer: evictor.ObserverFunc(p.observe), Prefer: p.options.Prefer})
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	p.subject = e
	if p.options.Wrap != nil {
		p.subject = p.options.Wrap(e, p.cluster)
	}
	for i := range p.cluster.nodes { // as informers tell of what they list; the evictor decides nothing before it is told of something
		if n := &p.cluster.nodes[i]; !n.deleted {
			e.NodeChanged(n.name)
		}
	}
	return nil
}

func (p *player) observe(d evictor.Decision) {
	if p.options.Decision != nil {
		p.options.Decision(d)
	}
	if l, ok := LineOf(d); ok {
		if d.Kind == evictor.EvictionCancelled {
			p.report.Cancelled[d.Reason]++
		}
		p.line(l)
	}
}

// line collects the lines of one millisecond, which are written sorted.
func (p *player) line(l scenario.Line) {
	p.report.note(l, p.seen)
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
	c.stats.stranded(int64(p.settings.Until), 0)
	r.TaintedNodes, r.NodeFailures = len(p.seen), c.stats.failures
	r.EvictedFromLive, r.Delays = c.stats.fromLive, delaysOf(c.stats.delays)
	r.Rescheduled, r.Waiting = c.stats.returned, c.waiting.len()
	r.CameBackNodes, r.CameBackPods = c.stats.beforeNodes, c.stats.beforeTurn
	r.Left = c.left(p.settings.TaintBasedEviction)
	r.Stranded = time.Duration(min(c.stats.integral, 9.2e9) * float64(time.Second))
	return r, p.lineErr
}

var reborn = regexp.MustCompile(`-r([1-9][0-9]*)$`)

// successor is the name under which an evicted pod comes back.
func successor(name string) string {
	if m := reborn.FindStringSubmatchIndex(name); m != nil {
		if n, err := strconv.ParseInt(name[m[2]:m[3]], 10, 63); err == nil {
			return name[:m[0]] + "-r" + strconv.FormatInt(n+1, 10)
		}
	}
	return name + "-r1"
}
