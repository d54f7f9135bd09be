package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/dryrun"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// half is the value of the flag --half.
type half clientgo.Half

var halves = []string{clientgo.Both: "both", clientgo.Lifecycle: "lifecycle", clientgo.TaintEviction: "taint-eviction"}

// String implements pflag.Value.
func (h *half) String() string { return halves[*h] }

// Set implements pflag.Value.
func (h *half) Set(text string) error {
	i := slices.Index(halves, text)
	if i < 0 {
		return errors.New("must be both, lifecycle or taint-eviction")
	}
	*h = half(i) //nolint:gosec // there are three
	return nil
}

// Type implements pflag.Value.
func (h *half) Type() string { return "string" }

// evicts says whether the rate of failed nodes determines how many pods are evicted.
func (o *options) evicts() bool {
	return o.half == clientgo.Both || !o.evictor.Nodes.TaintBasedEviction
}

// watched is the half that permissions and watches are needed for. Without taints the lifecycle half deletes pods, so it
// needs both.
func (o *options) watched() clientgo.Half {
	if o.half == clientgo.Lifecycle && !o.evictor.Nodes.TaintBasedEviction {
		return clientgo.Both
	}
	return o.half
}

// controllers are both halves of an evictor, or the one that --half names; the other is nil.
type controllers struct {
	nodes *nodelifecycle.Controller
	pods  *tainteviction.Controller
	all   interface {
		evictor.Target
		Run(ctx context.Context) error
		Step(ctx context.Context) (next time.Time, err error)
		Kick()
	}
}

// newControllers makes them.
func newControllers(which clientgo.Half, config evictor.Config, clients evictor.Clients, options evictor.Options) (c controllers, err error) {
	switch which {
	case clientgo.Lifecycle:
		c.nodes, err = nodelifecycle.New(config.Nodes, clients, nodelifecycle.Options{
			Clock: options.Clock, Observer: options.Observer.ObserveNode, Gate: options.Gate, Hold: options.Hold, Excluded: options.Excluded, Jitter: options.Jitter,
		})
		c.all = c.nodes
	case clientgo.TaintEviction:
		c.pods, err = tainteviction.New(config.Pods(), tainteviction.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: clients.PodWriter, Source: clients.Source}, tainteviction.Options{
			Clock: options.Clock, Observer: options.Observer.ObservePod, Gate: options.Gate, Jitter: options.Jitter,
		})
		c.all = c.pods
	default:
		var both *evictor.Evictor
		if both, err = evictor.New(config, clients, options); err == nil {
			c.nodes, c.pods, c.all = both.Nodes(), both.Pods(), both
		}
	}
	return c, err
}

// unwritten returns clients that write nothing, and what is told of the writes once the controllers are made.
func unwritten(clients evictor.Clients) (evictor.Clients, *dryrun.Clients) {
	dry := &dryrun.Clients{NodeStore: clients.Nodes, Pods: clients.Pods}
	clients.Nodes, clients.Pods, clients.NodeWriter, clients.PodWriter = dry, dry, dry, dry
	return clients, dry
}
