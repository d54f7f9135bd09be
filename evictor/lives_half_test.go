package evictor_test

import (
	"context"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/leases"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// livesEvictor is what lives: both halves, or one.
type livesEvictor interface {
	evictor.Target
	Step(ctx context.Context) (next time.Time, err error)
	Run(ctx context.Context) error
	Kick()
	nodes() *nodelifecycle.Controller // nil without that half
	pods() *tainteviction.Controller
}

type (
	livesWhole struct{ *evictor.Evictor }
	livesNodes struct{ *nodelifecycle.Controller }
	livesPods  struct{ *tainteviction.Controller }
)

func (l livesWhole) nodes() *nodelifecycle.Controller { return l.Nodes() }
func (l livesWhole) pods() *tainteviction.Controller  { return l.Pods() }
func (l livesNodes) nodes() *nodelifecycle.Controller { return l.Controller }
func (livesNodes) pods() *tainteviction.Controller    { return nil }
func (livesPods) nodes() *nodelifecycle.Controller    { return nil }
func (l livesPods) pods() *tainteviction.Controller   { return l.Controller }

// livesReads answers about leases, and leaves it to the world whether a process sees.
type livesReads struct{ leases.Judge }

func (livesReads) SetLeaseHealth(error) {}

// newLivesEvictor makes what the plan says.
func newLivesEvictor(p *livesProcess) (e livesEvictor, err error) {
	p.paused = &gate.Pause{}
	config, o := p.world.config, p.options()
	switch p.world.plan.Half {
	case livesLifecycle:
		var nodes *nodelifecycle.Controller
		nodes, err = nodelifecycle.New(config.Nodes, nodelifecycle.Clients{Nodes: p, Pods: p, NodeWriter: p, PodWriter: p}, nodelifecycle.Options{
			Clock: o.Clock, Observer: o.Observer.ObserveNode, Gate: o.Gate, Policy: o.Policy, Domain: o.Domain, Excluded: o.Excluded, Hold: o.Hold, Prefer: o.Prefer, OnPanic: o.OnPanic,
		})
		e = livesNodes{nodes}
	case livesTaintEviction:
		var pods *tainteviction.Controller
		pods, err = tainteviction.New(config.Pods(), tainteviction.Clients{Nodes: p, Pods: p, Evicter: p}, tainteviction.Options{
			Clock: o.Clock, Observer: o.Observer.ObservePod, Gate: o.Gate, Domain: o.Domain, OnPanic: o.OnPanic,
		})
		e = livesPods{pods}
	default:
		var both *evictor.Evictor
		both, err = evictor.New(config, evictor.Clients{Nodes: p, Pods: p, NodeWriter: p, PodWriter: p}, o)
		e = livesWhole{both}
	}
	if err != nil {
		return nil, err
	}
	p.paused.Changed = e.Kick
	p.reader = nil
	if judge, ok := e.(leases.Judge); ok && p.world.plan.Confirms {
		p.reader = &leases.Reader{Judge: livesReads{judge}, Read: p.readLease, Clock: o.Clock}
	}
	return e, nil
}
