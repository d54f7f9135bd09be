package evictor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/loop"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/zone"
)

// Config is what an operator may tune. RetryInitial, RetryMax and GateInterval of Nodes count for both halves.
type Config struct {
	Nodes nodelifecycle.Config
	// NumericTolerations and PodWorkers are those of tainteviction.Config.
	NumericTolerations bool
	PodWorkers         int
}

// DefaultConfig returns upstream's defaults, and ours for what upstream does not have.
func DefaultConfig() Config {
	return Config{Nodes: nodelifecycle.DefaultConfig(), PodWorkers: tainteviction.DefaultConfig().PodWorkers}
}

// Pods is the configuration of the half that evicts pods.
func (c Config) Pods() tainteviction.Config {
	return tainteviction.Config{
		NumericTolerations: c.NumericTolerations, PodWorkers: c.PodWorkers,
		RetryInitial: c.Nodes.RetryInitial, RetryMax: c.Nodes.RetryMax, GateInterval: c.Nodes.GateInterval,
	}
}

// Validate reports every fault at once, as an aggregate of field errors, or nil.
func (c Config) Validate() error { return c.faults().ToAggregate() }

func (c Config) faults() (errs field.ErrorList) {
	var several utilerrors.Aggregate
	if errors.As(c.Nodes.Validate(), &several) {
		for _, one := range several.Errors() {
			var fault *field.Error
			if errors.As(one, &fault) {
				fault.Field = "nodes." + fault.Field
				errs = append(errs, fault)
			}
		}
	}
	if c.PodWorkers <= 0 {
		errs = append(errs, field.Invalid(field.NewPath("podWorkers"), c.PodWorkers, "must be greater than 0"))
	}
	return errs
}

// Observer receives the decisions of both halves, in order and with nothing locked. It must not block; it may feed the
// evictor.
type Observer interface {
	ObserveNode(d NodeDecision)
	ObservePod(d PodDecision)
}

// Observers are several, told one after the other. It leaves out nil ones. One that panics keeps nothing from the next.
type Observers []Observer

// ObserveNode tells each.
func (o Observers) ObserveNode(d NodeDecision) { o.each(func(each Observer) { each.ObserveNode(d) }) }

// ObservePod tells each.
func (o Observers) ObservePod(d PodDecision) { o.each(func(each Observer) { each.ObservePod(d) }) }

func (o Observers) each(tell func(Observer)) {
	if len(o) == 0 {
		return
	}
	defer o[1:].each(tell)
	if o[0] != nil {
		tell(o[0])
	}
}

// Observe returns an Observer that calls functions, either of which may be nil.
func Observe(nodes func(NodeDecision), pods func(PodDecision)) Observer {
	return funcs{nodes, pods}
}

type funcs struct {
	nodes func(NodeDecision)
	pods  func(PodDecision)
}

func (f funcs) ObserveNode(d NodeDecision) {
	if f.nodes != nil {
		f.nodes(d)
	}
}

func (f funcs) ObservePod(d PodDecision) {
	if f.pods != nil {
		f.pods(d)
	}
}

// Options are settings that the program chooses, not the operator. The zero Options are valid; see nodelifecycle.Options.
type Options struct {
	Clock    clock.PassiveClock
	Observer Observer
	Gate     gate.Gate
	Policy   zone.Policy
	Domain   func(node *v1.Node) zone.Key
	Excluded func(node *v1.Node) bool
	Hold     func(node *v1.Node) (reason string, held bool)
	Prefer   func(domain zone.Key, waiting []string) (node string)
	Jitter   func(time.Duration) time.Duration
	OnPanic  func(key, value any, stack []byte)
}

// Evictor is both halves. Make one with New. Most callers want [Evictor.Run] first, or [Evictor.Step] in tests, and
// [Evictor.Nodes] and [Evictor.Pods] to look into it. All methods but Step and Run may be called from any goroutine.
type Evictor struct {
	nodes *nodelifecycle.Controller
	pods  *tainteviction.Controller
	loop  loop.Loop
}

// New checks the configuration and the clients, and returns an Evictor that the clients' Source feeds.
func New(cfg Config, clients Clients, opts Options) (*Evictor, error) {
	if err := slices.Concat(cfg.faults(), absent.In("clients", clients, "nodes", "pods", "nodeWriter", "podWriter"), absent.In("options", opts)).ToAggregate(); err != nil {
		return nil, fmt.Errorf("evictor: %w", err)
	}
	around := environment.New(environment.Settings{Clock: opts.Clock, Gate: opts.Gate, Interval: cfg.Nodes.GateInterval, Panicked: opts.OnPanic})
	ofNodes := nodelifecycle.Options{
		Gate: opts.Gate, Policy: opts.Policy, Domain: opts.Domain, Excluded: opts.Excluded, Hold: opts.Hold, Prefer: opts.Prefer, Jitter: opts.Jitter, OnPanic: opts.OnPanic,
	}
	ofPods := tainteviction.Options{Jitter: opts.Jitter, OnPanic: opts.OnPanic}
	if opts.Observer != nil {
		ofNodes.Observer, ofPods.Observer = opts.Observer.ObserveNode, opts.Observer.ObservePod
	}
	e, err := &Evictor{}, error(nil)
	unfed := clients
	unfed.Source = nil // it feeds both
	e.nodes, err = nodelifecycle.Within(around, cfg.Nodes, unfed, ofNodes)
	if err != nil {
		return nil, fmt.Errorf("evictor: %w", err)
	}
	e.pods, err = tainteviction.Within(around, cfg.Pods(), tainteviction.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: clients.PodWriter, Verdicts: e.nodes}, ofPods)
	if err != nil {
		return nil, fmt.Errorf("evictor: %w", err)
	}
	e.loop = loop.Loop{Around: around, Nodes: clients.Nodes, Source: clients.Source, Interval: cfg.Nodes.GateInterval, Turns: cfg.Nodes.NodeWorkers}
	if clients.Source != nil {
		if err := clients.Source.Feed(e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Step does everything that is due now, in line and in order, and returns when to call it again.
func (e *Evictor) Step(ctx context.Context) (next time.Time, err error) { return e.loop.Step(ctx) }

// Run does what Step does, in a loop, with bounded pools of workers, and runs the clients' Source.
func (e *Evictor) Run(ctx context.Context) error { return e.loop.Run(ctx) }

// Nodes is the half that watches nodes: ask it about nodes, zones and turns, and let it hold nodes.
func (e *Evictor) Nodes() *nodelifecycle.Controller { return e.nodes }

// Pods is the half that evicts pods: ask it about evictions.
func (e *Evictor) Pods() *tainteviction.Controller { return e.pods }

// NodeChanged says that a node was added, changed or deleted.
func (e *Evictor) NodeChanged(name string) { e.nodes.NodeChanged(name) }

// PodChanged is NodeChanged for a pod.
func (e *Evictor) PodChanged(key PodKey) { e.nodes.PodChanged(key) }

// LeaseObserved reports the renewTime of a node's lease, and the lease's resourceVersion if that is known.
func (e *Evictor) LeaseObserved(node string, renewTime time.Time, resourceVersion string) {
	e.nodes.LeaseObserved(node, renewTime, resourceVersion)
}

// SetObserverHealth says whether the evictor itself can see the cluster; err says why not.
func (e *Evictor) SetObserverHealth(err error) { e.nodes.SetObserverHealth(err) }

// SetLeaseHealth says whether leases can be read; err says why not. Until both are well, nothing is judged or harmed.
func (e *Evictor) SetLeaseHealth(err error) { e.nodes.SetLeaseHealth(err) }

// Kick makes the evictor ask anew whatever was refused, and try again what has failed; call it when the answer of a Gate
// changes.
func (e *Evictor) Kick() { e.nodes.Kick() }

// Silent returns the nodes whose leases have to be read live now, and when to ask again; see nodelifecycle.Controller.
func (e *Evictor) Silent() (nodes []string, next time.Time) { return e.nodes.Silent() }

// LeaseRead answers for a node that Silent has named.
func (e *Evictor) LeaseRead(node string, renewTime time.Time, resourceVersion string, err error) {
	e.nodes.LeaseRead(node, renewTime, resourceVersion, err)
}
