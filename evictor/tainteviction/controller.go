package tainteviction

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/loop"
	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// Controller evicts pods from nodes with NoExecute taints when their tolerations end. Most callers want [Controller.Run]
// first, or [Controller.Step] in tests, and [Controller.Evictions] to look into it. All methods but Step and Run may be
// called from any goroutine.
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
	if err := slices.Concat(cfg.faults(), absent.In("clients", clients, "nodes", "pods", "evicter"), absent.In("options", opts)).ToAggregate(); err != nil {
		return nil, fmt.Errorf("tainteviction: %w", err)
	}
	if opts.Domain == nil {
		opts.Domain = func(node *v1.Node) zone.Key { return zone.KeyOf(node.Labels) }
	}
	if around == nil {
		around = environment.New(environment.Settings{Clock: opts.Clock, Gate: opts.Gate, Interval: cfg.GateInterval, Panicked: opts.OnPanic})
	}
	c := &Controller{engine: engine{
		mu:  environment.Lock{Around: around},
		cfg: cfg, clients: clients, opts: opts, around: around,
		nodes: make(map[string]*node), pods: make(map[cluster.PodKey]*pod),
	}}
	var err error
	c.armed, err = timedworker.New(c.evict, timedworker.Config{
		Clock: around.Clock, OnPanic: opts.OnPanic, Workers: cfg.PodWorkers,
		Backoff: timedworker.Backoff{Initial: cfg.RetryInitial, Max: cfg.RetryMax, Factor: 2, Jitter: opts.Jitter},
	})
	if err != nil {
		return nil, fmt.Errorf("tainteviction: %w", err)
	}
	around.Parts = append(around.Parts, environment.Part{Half: half{c}, Evictions: c.armed})
	c.loop = loop.Loop{Around: around, Nodes: clients.Nodes, Source: clients.Source, Interval: cfg.GateInterval}
	if clients.Source != nil {
		if err := clients.Source.Feed(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Step does everything that is due now, in line and in order, and returns when to call it again.
func (c *Controller) Step(ctx context.Context) (next time.Time, err error) { return c.loop.Step(ctx) }

// Run does what Step does, in a loop, with a bounded pool of workers, and runs the Source.
func (c *Controller) Run(ctx context.Context) error { return c.loop.Run(ctx) }

// NodeChanged says that a node was added, changed or deleted, or that Verdicts may have another answer about it.
func (c *Controller) NodeChanged(name string) { c.around.Inbox.Node(name) }

// PodChanged is NodeChanged for a pod.
func (c *Controller) PodChanged(key cluster.PodKey) { c.around.Inbox.Pod(key) }

// LeaseObserved does nothing: leases say nothing about taints.
func (c *Controller) LeaseObserved(string, time.Time, string) {}

// SetObserverHealth says whether the evictor itself can see the cluster; while it cannot, it evicts nothing. When it can
// again, what has failed is tried again at once.
func (c *Controller) SetObserverHealth(err error) { c.around.SetObserverHealth(err) }

// SetLeaseHealth is SetObserverHealth for who reads leases. The controller sees when both are well.
func (c *Controller) SetLeaseHealth(err error) { c.around.SetLeaseHealth(err) }

// Kick makes the controller ask anew whatever was refused, and try again what has failed. Call it when the answer of a Gate
// changes.
func (c *Controller) Kick() { c.around.Kick() }

// Eviction is an armed eviction: the pod has to leave, and has not yet.
type Eviction struct {
	Pod     cluster.PodRef
	Due     time.Time // of the next try
	Attempt int       // how many tries have failed; a refusal is no failure
	Why     Decision  // EvictionArmed or, while something holds it back, EvictionDelayed with its Reason and Err
}

// Evictions returns the armed evictions, in the order in which they are due.
func (c *Controller) Evictions() []Eviction {
	armed := c.armed.All()
	list := make([]Eviction, len(armed))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, is := range armed {
		list[i] = Eviction{Pod: is.Key, Due: c.mu.Shown(is.Due), Attempt: is.Attempts, Why: c.standing(is.Value)}
	}
	return list
}

// standing is what was last decided about an armed eviction.
func (e *engine) standing(p *pod) Decision {
	switch {
	case p.no != nil:
		return e.decision(p, EvictionDelayed, p.no.Reason, p.no)
	case p.delayed == notSettled:
		return e.decision(p, EvictionDelayed, notSettled, nil)
	}
	return e.decision(p, EvictionArmed, "", nil)
}
