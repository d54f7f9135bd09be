package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/inbox"
	"github.com/evictkit/evictkit/evictor/internal/loop"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// liftWorkers lift taints under Run, and do nothing else.
const liftWorkers = 2

// Controller watches nodes, decides which of them have failed, and taints or empties them, at the rates of their zones.
// Most callers want [Controller.Run] first, or [Controller.Step] in tests, and [Controller.Node] to look into it. All
// methods but Step and Run may be called from any goroutine.
type Controller struct {
	engine
	loop loop.Loop
}

// New checks the configuration and the clients, and returns a Controller.
func New(cfg Config, clients Clients, opts Options) (*Controller, error) {
	return Within(nil, cfg, clients, opts)
}

// Within is New for package evictor, whose halves share an environment. Its clock and its gate count, and those of Options do not. Nil
// makes an environment of those of Options.
func Within(around *environment.Environment, cfg Config, clients Clients, opts Options) (*Controller, error) {
	if err := slices.Concat(cfg.faults(), absent.In("clients", clients, "nodes", "pods", "nodeWriter", "podWriter"), absent.In("options", opts)).ToAggregate(); err != nil {
		return nil, fmt.Errorf("nodelifecycle: %w", err)
	}
	opts = opts.withDefaults()
	if around == nil {
		around = environment.New(environment.Settings{Clock: opts.Clock, Gate: opts.Gate, Interval: cfg.GateInterval, Panicked: opts.OnPanic})
	}
	c := &Controller{engine: engine{
		mu:  environment.Lock{Around: around},
		cfg: cfg, clients: clients, opts: opts, around: around,
		nodes: make(map[string]*node), attention: make(map[string]*node), holds: make(map[string]string), closed: make(map[zone.Key]bool), unread: make(map[string]*node),
	}}
	if err := c.build(); err != nil {
		return nil, fmt.Errorf("nodelifecycle: %w", err)
	}
	around.Parts = append(around.Parts, environment.Part{Half: half{c}, Workers: []environment.Worker{c.lifts, c.writes, c.marks}, Evictions: c.deletes})
	c.loop = loop.Loop{Around: around, Nodes: clients.Nodes, Source: clients.Source, Interval: cfg.GateInterval, Turns: cfg.NodeWorkers}
	if clients.Source != nil {
		if err := clients.Source.Feed(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// build makes the pieces of which the controller is made.
func (c *Controller) build() (err error) {
	cfg, opts := c.cfg, c.opts
	var policy zone.Policy = zone.DisruptionPolicy{
		EvictionRate: cfg.NodeEvictionRate, SecondaryEvictionRate: cfg.SecondaryNodeEvictionRate,
		LargeZoneThreshold: cfg.LargeClusterSizeThreshold, UnhealthyThreshold: cfg.UnhealthyZoneThreshold,
	}
	if opts.Policy != nil {
		policy = guarded{opts.Policy, c.around, cfg.GateInterval}
	}
	if c.zones, err = zone.New[string](policy); err != nil {
		return err
	}
	if c.monitor, err = health.NewMonitor(health.Config{
		Clock: c.around.Clock, NodeMonitorPeriod: cfg.NodeMonitorPeriod, MaxGap: cfg.MaxGap,
		NodeMonitorGracePeriod: cfg.NodeMonitorGracePeriod, NodeStartupGracePeriod: cfg.NodeStartupGracePeriod,
	}); err != nil {
		return err
	}
	if c.turns, err = ratelimitqueue.NewGroup[zone.Key, turnKey, struct{}](c.queues()); err != nil {
		return err
	}
	work := timedworker.Config{Clock: c.around.Clock, OnPanic: opts.OnPanic, Workers: cfg.NodeWorkers, Backoff: c.backoff()}
	lifting := work
	lifting.Workers = liftWorkers
	if c.writes, err = timedworker.New(func(ctx context.Context, w nodeWork) timedworker.Result { return c.write(ctx, w.Key, false) }, work); err != nil {
		return err
	}
	if c.lifts, err = timedworker.New(func(ctx context.Context, w nodeWork) timedworker.Result { return c.write(ctx, w.Key, true) }, lifting); err != nil {
		return err
	}
	if c.marks, err = timedworker.New(c.mark, work); err != nil {
		return err
	}
	c.deletes, err = timedworker.New(c.remove, work)
	return err
}

// queues configures the turns.
func (c *Controller) queues() ratelimitqueue.GroupConfig[zone.Key, turnKey] {
	cfg, opts := c.cfg, c.opts
	config := ratelimitqueue.GroupConfig[zone.Key, turnKey]{
		Config:  ratelimitqueue.Config{Rate: rate.Limit(cfg.NodeEvictionRate), Clock: c.around.Clock}, // until the policy is asked
		MaxRate: rate.Limit(cfg.MaxNodesPerSecond),
	}
	if opts.Prefer == nil {
		return config
	}
	config.Prefer = func(domain zone.Key, due []turnKey) turnKey {
		names := make([]string, len(due))
		for i := range due {
			names[i] = due[i].node
		}
		var chosen string
		if err := c.around.Guard("Prefer", func() error { chosen = opts.Prefer(domain, names); return nil }); err != nil {
			c.around.Fails("Prefer", err)
		}
		if i := slices.IndexFunc(due, func(k turnKey) bool { return k.node == chosen }); i >= 0 {
			return due[i]
		}
		return turnKey{}
	}
	return config
}

// guarded is a policy that stops a zone while it fails, and is asked again after a while.
type guarded struct {
	zone.Policy
	around *environment.Environment
	again  time.Duration
}

// Validate is that of the policy, if it has one.
func (g guarded) Validate() error {
	if v, ok := g.Policy.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}

// Decide asks the policy.
func (g guarded) Decide(s zone.Situation) (ruling zone.Ruling) {
	switch answered := g.around.Ask("Policy", func() { ruling = g.Policy.Decide(s) }); {
	case answered && ruling.Rate >= 0:
		return ruling
	case answered:
		g.around.Fails("Policy", fmt.Errorf("it rules a rate of %v", ruling.Rate))
	}
	return zone.Ruling{AskAfter: g.again}
}

// Step does everything that is due now, in line and in order, and returns when to call it again.
func (c *Controller) Step(ctx context.Context) (next time.Time, err error) { return c.loop.Step(ctx) }

// Run does what Step does, in a loop, with bounded pools of workers, and runs the Source.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// NodeChanged says that a node was added, changed or deleted.
func (c *Controller) NodeChanged(name string) { c.around.Inbox.Node(name) }

// PodChanged is NodeChanged for a pod.
func (c *Controller) PodChanged(key cluster.PodKey) { c.around.Inbox.Pod(key) }

// LeaseObserved reports the renewTime of a node's lease, and the lease's resourceVersion if that is known.
func (c *Controller) LeaseObserved(node string, renewTime time.Time, resourceVersion string) {
	if !c.monitor.ObserveLease(node, renewTime, resourceVersion) { // its node may not be known yet
		c.around.Inbox.Lease(node, inbox.Lease{RenewTime: renewTime, ResourceVersion: resourceVersion})
	} else if c.cfg.NodeMonitorPeriod == 0 && c.around.Read().Due(c.monitor.Next()) {
		c.around.Inbox.Kick()
	}
}

// SetObserverHealth says whether the evictor itself can see the cluster; err says why not. While it cannot, verdicts stay
// as they are, and nothing is written. When it can again, what has failed is tried again at once.
func (c *Controller) SetObserverHealth(err error) { c.around.SetObserverHealth(err) }

// SetLeaseHealth is SetObserverHealth for who reads leases, such as a leases.Reader. The controller sees when both are well.
func (c *Controller) SetLeaseHealth(err error) { c.around.SetLeaseHealth(err) }

// Kick makes the controller ask anew whatever was refused, and try again what has failed. Call it when the answer of a Gate
// changes.
func (c *Controller) Kick() { c.around.Kick() }

// Zones returns the status of every zone as of the last monitor pass, sorted by key.
func (c *Controller) Zones() []zone.Status { return c.zones.Zones() }

// AllZonesDown reports whether every zone with a counted node was fully disrupted at the last monitor pass.
func (c *Controller) AllZonesDown() bool { return c.zones.AllDown() }
