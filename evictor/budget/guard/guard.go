package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// Member is what a Budget learns about a node. The functions of its Config must neither change Labels nor keep them, and must
// not call the evictor.
type Member struct {
	Domain   zone.Key
	Labels   map[string]string // all of the node's, as its store shows them
	Ready    bool              // by its verdict, before the first one by its own report
	Excluded bool              // by Options.Excluded of the evictor, or zone.Excluded
	Held     bool              // by Options.Hold of the evictor
}

// Options are settings that the program chooses. The zero Options are valid.
type Options struct {
	// Exceeded says whether evictions by our own taints wait while that bound is exceeded in a group of their node, for
	// example to stop in a storm, as Medik8s does. If nil, they go on. It is called with nothing locked and must be fast:
	// each eviction that is due asks it.
	Exceeded func(by *budget.Refusal) (wait bool)
	// FalseAlarmWithin is for trials: a node that is ready again this soon after its first pod left was a false alarm. 0
	// means NodeMonitorGracePeriod.
	FalseAlarmWithin time.Duration
}

// Guard limits how many nodes an evictor acts on. [Guard.On] puts it where it belongs. Make one with New for
// each evictor.
type Guard struct {
	budget   *budget.Budget[string, Member]
	clock    clock.PassiveClock
	exceeded func(by *budget.Refusal) (wait bool)
	alarm    time.Duration
	taints   bool // a turn taints its node; otherwise it deletes the pods

	// mu is taken with the evictor's lock held, so nothing of the evictor's is called with mu held.
	mu      sync.Mutex
	nodes   map[string]*node
	fresh   []*node   // without a verdict yet
	started bool      // every node that was there at the start has a verdict
	writes  time.Time // since when this process may write, as far as is known; zero while it may not
	hears   bool      // of pods that leave

	fault error // of the arguments of On: no node has a turn
}

// New returns a Guard for one evictor with that configuration, or an error with all faults of the arguments.
func New(b *budget.Budget[string, Member], cfg nodelifecycle.Config, opts Options) (*Guard, error) {
	var errs field.ErrorList
	if b == nil {
		errs = append(errs, field.Required(field.NewPath("budget"), "make one with budget.New"))
	}
	if opts.FalseAlarmWithin < 0 {
		errs = append(errs, field.Invalid(field.NewPath("falseAlarmWithin"), opts.FalseAlarmWithin.String(), "must not be negative"))
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("guard: %w", errs.ToAggregate())
	}
	return &Guard{
		budget: b.As("evictor"), clock: b.Clock(), exceeded: opts.Exceeded, nodes: make(map[string]*node),
		alarm: cmp.Or(opts.FalseAlarmWithin, cfg.NodeMonitorGracePeriod), taints: cfg.TaintBasedEviction,
	}, nil
}

// On returns the options with the Guard on their Gate, Observer and Hold. It asks what is there as well. A nil Clock becomes
// the budget's. The Guard refuses all turns if another Clock tells another time than the budget's. Call On once, before
// evictor.New.
func (g *Guard) On(opts evictor.Options) evictor.Options {
	if absent.Value(opts.Clock) {
		opts.Clock = g.clock
	}
	if apart := opts.Clock.Now().Sub(g.clock.Now()).Abs(); apart > time.Hour {
		g.fault = fmt.Errorf("guard: the Clock of budget.Config is %s apart from the evictor's: give both the same", apart)
	}
	g.clock = opts.Clock
	domain, excluded, hold := opts.Domain, opts.Excluded, opts.Hold
	opts.Hold = func(object *v1.Node) (reason string, held bool) {
		is := Member{Domain: zone.KeyOf(object.Labels), Labels: object.Labels, Excluded: zone.Excluded(object.Labels)}
		if domain != nil {
			is.Domain = domain(object)
		}
		if excluded != nil {
			is.Excluded = excluded(object)
		}
		if hold != nil {
			reason, held = hold(object)
		}
		is.Held = held
		g.sees(object, is)
		return reason, held
	}
	opts.Gate = gate.All(opts.Gate, gate.Func(g.may))
	opts.Observer = evictor.Observers{evictor.Observe(g.observeNode, g.observePod), opts.Observer}
	return opts
}

// may reserves the node of a Turn, and refuses an Evict while a bound is exceeded. It permits everything else.
func (g *Guard) may(_ context.Context, act gate.Act) error {
	switch act.Do {
	case gate.Turn:
		if g.fault != nil {
			return g.fault
		}
		return g.reserve(act.Node)
	case gate.Evict:
		return g.mayEvict(act)
	}
	return nil
}

func (g *Guard) reserve(name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[name]
	if n == nil { // not seen: the Hold of On is missing
		n = &node{name: name}
	}
	n.asked = g.clock.Now()
	if n.state >= reserved { // it counts already
		return nil
	}
	if n.state == inherited { // what an earlier process did is done anew
		n.anew = g.budget.End(name)
		n.state = idle
	}
	if _, err := g.budget.Reserve(name); err != nil {
		return refused(err)
	}
	n.state = reserved
	return nil
}

// refused names the bound in its reason, so that another bound is reported.
func refused(err error) *gate.Refused {
	no := &gate.Refused{Reason: "Budget", Err: err}
	var by *budget.Refusal
	if errors.As(err, &by) {
		no.Reason += ": " + by.Bound
	}
	return no
}

func (g *Guard) mayEvict(act gate.Act) error {
	if g.exceeded == nil || act.Why.Taint != nil && !taints.OwnNoExecute(act.Why.Taint) {
		return nil
	}
	for _, by := range g.budget.Exceeded(act.Node) {
		if g.exceeded(by) {
			no := refused(by)
			no.Pace = true
			return no
		}
	}
	return nil
}
