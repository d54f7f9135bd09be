package manager

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// built is what runs in a manager: both halves, or one. The other is nil.
type built struct {
	nodes *nodelifecycle.Controller
	pods  *tainteviction.Controller
	all   interface {
		evictor.Target
		Run(ctx context.Context) error
	}
}

// what says what is to be built.
type what struct {
	half  clientgo.Half
	grace time.Duration // after which a silent node has failed; 0 if that is not this half's concern
	build func(evictor.Clients, evictor.Options) (built, error)
}

// New makes a manager, as ctrl.NewManager does, and an evictor that runs with it. The error names every fault of the
// settings, or is controller-runtime's. The evictor sends nothing before the manager starts.
func New(config *rest.Config, options ctrl.Options, settings evictor.Config, more Options) (ctrl.Manager, *evictor.Evictor, error) {
	var e *evictor.Evictor
	mgr, err := what{clientgo.Both, settings.Nodes.NodeMonitorGracePeriod, func(clients evictor.Clients, opts evictor.Options) (b built, err error) {
		if e, err = evictor.New(settings, clients, opts); err != nil {
			return b, err
		}
		return built{e.Nodes(), e.Pods(), e}, nil
	}}.managed(config, options, more)
	return mgr, e, err
}

// NewLifecycle is New for the node lifecycle half alone.
func NewLifecycle(config *rest.Config, options ctrl.Options, settings nodelifecycle.Config, more Options) (ctrl.Manager, *nodelifecycle.Controller, error) {
	half := clientgo.Lifecycle
	if !settings.TaintBasedEviction { // then it deletes pods
		half = clientgo.Both
	}
	var c *nodelifecycle.Controller
	mgr, err := what{half, settings.NodeMonitorGracePeriod, func(clients evictor.Clients, o evictor.Options) (b built, err error) {
		c, err = nodelifecycle.New(settings, clients, nodelifecycle.Options{
			Clock: o.Clock, Observer: o.Observer.ObserveNode, Gate: o.Gate, Policy: o.Policy, Domain: o.Domain, Excluded: o.Excluded,
			Hold: o.Hold, Prefer: o.Prefer, Jitter: o.Jitter, OnPanic: o.OnPanic,
		})
		return built{nodes: c, all: c}, err
	}}.managed(config, options, more)
	return mgr, c, err
}

// NewTaintEviction is New for the taint eviction half alone. Options.Evictor must have no Policy, Excluded, Hold or Prefer: this
// half asks none of them.
func NewTaintEviction(config *rest.Config, options ctrl.Options, settings tainteviction.Config, more Options) (ctrl.Manager, *tainteviction.Controller, error) {
	var c *tainteviction.Controller
	mgr, err := what{clientgo.TaintEviction, 0, func(clients evictor.Clients, o evictor.Options) (b built, err error) {
		c, err = tainteviction.New(settings, tainteviction.Clients{Nodes: clients.Nodes, Pods: clients.Pods, Evicter: clients.PodWriter, Source: clients.Source}, tainteviction.Options{
			Clock: o.Clock, Observer: o.Observer.ObservePod, Gate: o.Gate, Domain: o.Domain, Jitter: o.Jitter, OnPanic: o.OnPanic,
		})
		return built{pods: c, all: c}, err
	}}.managed(config, options, more)
	return mgr, c, err
}

// unheard finds options that this half would not hear of.
func (w what) unheard(more Options) (errs field.ErrorList) {
	if more.Cluster.Half != clientgo.Both {
		errs = append(errs, field.Forbidden(field.NewPath("cluster", "half"), "New runs both halves, NewLifecycle and NewTaintEviction run one"))
	}
	if w.half != clientgo.TaintEviction {
		return errs
	}
	o := more.Evictor
	for _, option := range []struct {
		name string
		set  bool
	}{{"policy", o.Policy != nil}, {"excluded", o.Excluded != nil}, {"hold", o.Hold != nil}, {"prefer", o.Prefer != nil}} {
		if option.set {
			errs = append(errs, field.Forbidden(field.NewPath("evictor", option.name), "a taint eviction half does not ask it: the lifecycle half does"))
		}
	}
	return errs
}
