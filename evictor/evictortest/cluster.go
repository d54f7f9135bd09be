package evictortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/internal/scenario"
	"github.com/evictkit/evictkit/internal/simulator"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// TB is what a Cluster needs of a testing.TB.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Epoch is the instant at which every Cluster starts.
var Epoch = simulator.Epoch

// fakeClock is the fake clock of k8s.io/utils, counted from Epoch.
type fakeClock struct{ *testingclock.FakeClock }

func (c fakeClock) Elapsed() time.Duration { return c.Since(Epoch) }
func (c fakeClock) Set(d time.Duration)    { c.SetTime(Epoch.Add(d)) }

// Cluster is the in-memory cluster.
type Cluster struct {
	t     TB
	clock fakeClock

	mu      sync.Mutex // guards what follows; never held while the evictor runs
	cluster *simulator.Cluster
	writer  *simulator.Writer
	lines   []scenario.Line
	faults  []func(write, object string) error
	down    error
	unread  error // what reading a lease fails with
	latency time.Duration
	feeds   []evictor.Target
	evictor *evictor.Evictor
	config  evictor.Config
	options evictor.Options
	next    time.Time
	driven  []*driven
}

type layout struct {
	given       map[string]bool // options that may be given only once
	fault       string
	zones       []zoneLayout
	podsPerNode int
	nodeLabels  func(node string) map[string]string
	podLabels   func(pod string) map[string]string
	tolerations []v1.Toleration
	interval    time.Duration
	report      time.Duration
}

type zoneLayout struct {
	key   zone.Key
	nodes int
}

// Option says how New lays the cluster out.
type Option func(*layout)

// Zone adds a zone with that many nodes, named <name>-0, <name>-1, …; "region:zone" gives it a region too.
func Zone(name string, nodes int) Option {
	return func(l *layout) {
		key := zone.Key{Zone: name}
		if region, rest, ok := strings.Cut(name, ":"); ok {
			key = zone.Key{Region: region, Zone: rest}
		}
		l.zones = append(l.zones, zoneLayout{key, nodes})
	}
}

// PodsPerNode gives every node that many pods in namespace default, owned by a ReplicaSet and named <node>-p0,
// <node>-p1, …
func PodsPerNode(n int) Option {
	return once("PodsPerNode", func(l *layout) { l.podsPerNode = n })
}

// NodeLabels gives every node, beside the labels of its zone, region, operating system and architecture, those that the
// function returns for its name.
func NodeLabels(labels func(node string) map[string]string) Option {
	return once("NodeLabels", func(l *layout) { l.nodeLabels = labels })
}

// PodLabels gives every pod of PodsPerNode the labels that the function returns for its name. By default they have none.
func PodLabels(labels func(pod string) map[string]string) Option {
	return once("PodLabels", func(l *layout) { l.podLabels = labels })
}

// once makes an option that may be given only once, because a second one would silently replace it.
func once(name string, option Option) Option {
	return func(l *layout) {
		if l.given[name] {
			l.fault = name + " is given twice"
		}
		l.given[name] = true
		option(l)
	}
}

// Tolerations replaces the pods' tolerations. By default they tolerate not-ready and unreachable for 300 seconds, which
// is what the API server's admission sets.
func Tolerations(tolerations ...v1.Toleration) Option {
	return once("Tolerations", func(l *layout) { l.tolerations = tolerations })
}

// Heartbeats replaces the periods of the kubelets' lease renewals and status reports, 10s and 5m by default. Both must be
// positive.
func Heartbeats(lease, status time.Duration) Option {
	return once("Heartbeats", func(l *layout) { l.interval, l.report = lease, status })
}

// New returns a cluster in which all nodes and pods are healthy.
func New(t TB, options ...Option) *Cluster {
	t.Helper()
	l := layout{given: make(map[string]bool), interval: 10 * time.Second, report: 5 * time.Minute, tolerations: []v1.Toleration{
		TolerateFor(v1.TaintNodeNotReady, 300), TolerateFor(v1.TaintNodeUnreachable, 300),
	}}
	for _, option := range options {
		option(&l)
	}
	if l.fault != "" {
		t.Fatalf("evictortest: %s", l.fault)
	}
	if l.interval <= 0 || l.report <= 0 {
		t.Fatalf("evictortest: the periods of kubelets must be positive")
	}
	c := &Cluster{t: t, clock: fakeClock{testingclock.NewFakeClock(Epoch)}}
	c.cluster = simulator.New(c.clock)
	c.lay(&l)
	c.cluster.NodeChanged = func(name string) {
		for _, e := range c.feeds {
			e.NodeChanged(name)
		}
	}
	c.cluster.PodChanged = func(key evictor.PodKey) {
		for _, e := range c.feeds {
			e.PodChanged(key)
		}
	}
	c.cluster.Renewed = func(name string, at time.Time) {
		for _, e := range c.feeds {
			e.LeaseObserved(name, at, "")
		}
	}
	c.writer = &simulator.Writer{Cluster: c.cluster, Line: func(l scenario.Line) { c.lines = append(c.lines, l) }}
	c.cluster.StartKubelets(l.interval, l.report, false)
	return c
}

// lay adds the nodes and pods of the layout.
func (c *Cluster) lay(l *layout) {
	for _, z := range l.zones {
		for i := range z.nodes {
			name := fmt.Sprintf("%s-%d", z.key.Zone, i)
			c.must(c.cluster.AddNode(name, z.key))
			if l.nodeLabels != nil {
				c.cluster.SetLabels(name, l.nodeLabels(name))
			}
			for k := range l.podsPerNode {
				key := evictor.PodKey{Namespace: "default", Name: scenario.PodName(name, k)}
				c.must(c.cluster.AddPod(key, name, simulator.PodSpec{OwnerKind: "ReplicaSet", OwnerName: z.key.Zone, Tolerations: l.tolerations}))
				if l.podLabels != nil {
					c.cluster.SetPodLabels(key, l.podLabels(key.Name))
				}
			}
		}
	}
}

// TolerateFor returns a toleration of the NoExecute taint with that key, for that many seconds.
func TolerateFor(key string, seconds int64) v1.Toleration {
	return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds}
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("evictortest: %v", err)
	}
}

// Clock returns the cluster's clock, for other code under test. Move it only with Advance.
func (c *Cluster) Clock() *testingclock.FakeClock { return c.clock.FakeClock }

// Clients returns the cluster as clients for an evictor, including a Source that feeds it and a Confirmer that reads
// leases.
func (c *Cluster) Clients() evictor.Clients {
	return evictor.Clients{Nodes: (*stores)(c), Pods: (*stores)(c), NodeWriter: (*writers)(c), PodWriter: (*writers)(c), Source: (*source)(c), Confirmer: (*leases)(c)}
}

// Start starts an evictor that Advance steps, in place of any earlier one. It makes its first step at once. At most one
// Options may be given; its clock is replaced by the cluster's.
func (c *Cluster) Start(config evictor.Config, options ...evictor.Options) *evictor.Evictor {
	c.t.Helper()
	if len(options) > 1 {
		c.t.Fatalf("evictortest: Start with %d Options, of which only one could count", len(options))
	}
	c.config = config
	if len(options) == 1 {
		c.options = options[0]
	}
	return c.begin()
}

// Restart starts a new evictor with the same configuration and drops the old one, as when its process restarts. The new
// one makes its first step at once.
func (c *Cluster) Restart() *evictor.Evictor {
	c.t.Helper()
	if c.evictor == nil {
		c.t.Fatalf("evictortest: cannot restart an evictor that Start did not begin")
	}
	return c.begin()
}

func (c *Cluster) begin() *evictor.Evictor {
	c.t.Helper()
	options := c.options
	options.Clock = c.clock.FakeClock
	observer := options.Observer
	options.Observer = evictor.ObserverFunc(func(d evictor.Decision) {
		if l, ok := simulator.LineOf(d); ok {
			c.mu.Lock()
			c.lines = append(c.lines, l)
			c.mu.Unlock()
		}
		if observer != nil {
			observer.Observe(d)
		}
	})
	e, err := evictor.New(c.config, c.Clients(), options)
	c.must(err)
	c.mu.Lock()
	if before := c.evictor; before != nil {
		c.feeds = slices.DeleteFunc(c.feeds, func(fed evictor.Target) bool { return fed == before })
	}
	c.evictor = e
	c.mu.Unlock()
	c.step()
	return e
}

// Evictor returns the evictor that Start or Restart started, nil before that.
func (c *Cluster) Evictor() *evictor.Evictor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evictor
}

func (c *Cluster) step() {
	c.t.Helper()
	if c.evictor != nil {
		next, err := c.evictor.Step(context.Background())
		c.must(err)
		c.mu.Lock()
		c.next = next
		c.mu.Unlock()
	}
	c.mu.Lock()
	all := slices.Clone(c.driven)
	c.mu.Unlock()
	for _, d := range all {
		c.stepDriven(d)
	}
}

// Advance lets d of virtual time pass. A negative d counts as 0.
func (c *Cluster) Advance(d time.Duration) {
	c.t.Helper()
	until := c.clock.Elapsed() + d
	c.step() // whatever the test has done since the last call
	for {
		next := until
		if due, some := c.due(); some {
			next = min(next, max(due.Sub(Epoch), c.clock.Elapsed()))
		}
		if at, ok := c.turns(next); ok {
			next = at
		} else {
			c.move(next)
		}
		c.step()
		due, some := c.due()
		if next >= until && (!some || due.Sub(Epoch) > next) {
			return
		}
	}
}

func (c *Cluster) move(to time.Duration) {
	if to > c.clock.Elapsed() {
		c.clock.Set(to)
	}
}

// turns makes kubelets renew and report until then. A report ends it early, because the evictor may act on it.
func (c *Cluster) turns(until time.Duration) (at time.Duration, reported bool) {
	for {
		c.mu.Lock()
		renewal, renews := c.cluster.NextRenewal()
		report, reports := c.cluster.NextReport()
		c.mu.Unlock()
		switch {
		case renews && renewal <= until && (!reports || renewal <= report):
			c.move(renewal)
			c.mu.Lock()
			c.cluster.Renew()
			c.mu.Unlock()
		case reports && report <= until:
			c.move(report)
			c.mu.Lock()
			c.cluster.Report()
			c.mu.Unlock()
			at, reported = report, true
			until = report // with everything else at that instant
		default:
			return at, reported
		}
	}
}

// Timeline returns what was written and how zones changed, in order, as lines of the scenario format (JSON; t is in
// seconds since Epoch).
func (c *Cluster) Timeline() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := make([]string, len(c.lines))
	for i := range c.lines {
		lines[i] = string(c.lines[i].AppendJSON(nil))
	}
	return lines
}

// Evicted returns the pods evicted so far, in order: as name, or namespace/name if the namespace is not default.
func (c *Cluster) Evicted() []string { return c.evicted(func(scenario.Line) bool { return true }) }

// EvictedFrom is Evicted for one node.
func (c *Cluster) EvictedFrom(node string) []string {
	return c.evicted(func(l scenario.Line) bool { return l.Node == node })
}

func (c *Cluster) evicted(which func(scenario.Line) bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pods []string
	for _, l := range c.lines {
		if l.Kind == scenario.KindEvict && which(l) {
			pods = append(pods, l.Pod)
		}
	}
	return pods
}

// Taints returns the taints of a node as key:effect, in order; nil if there is no such node.
func (c *Cluster) Taints(node string) (list []string) {
	if n, ok := (*stores)(c).Node(node); ok {
		for i := range n.Spec.Taints {
			list = append(list, n.Spec.Taints[i].ToString())
		}
	}
	return list
}

// HasNoExecute reports whether the node has a not-ready or unreachable taint with effect NoExecute.
func (c *Cluster) HasNoExecute(node string) bool {
	n, ok := (*stores)(c).Node(node)
	for i := 0; ok && i < len(n.Spec.Taints); i++ {
		if taints.OwnNoExecute(&n.Spec.Taints[i]) {
			return true
		}
	}
	return false
}
