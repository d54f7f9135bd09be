package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/together"
	"github.com/evictkit/evictkit/internal/absent"
)

// Controller acts in a World. An *evictor.Evictor is one.
//
// Its replicas all run, and the leader writes; an outage of the API may end its leadership. A Controller that also has a
// method End() runs only while it leads: End is called when it loses the lease, and its Start again when the next leader
// takes over.
type Controller interface {
	// Step does what is due now and returns when to call it again; the zero time means when something happens. Step runs
	// at the time that it returned, and whenever something but a lease renewal happens in the world. The returned time
	// should be after now: a controller that keeps asking to be called at once ends the simulation with an error. So does
	// an error of Step.
	Step(ctx context.Context) (next time.Time, err error)
}

// StepFunc is a function that is a Controller.
type StepFunc func(ctx context.Context) (next time.Time, err error)

// Step calls the function.
func (f StepFunc) Step(ctx context.Context) (time.Time, error) { return f(ctx) }

// Start makes a Controller, at time 0 and at each Restart. At a Restart it gets a new World with the same cluster. It must
// not write yet.
type Start func(w *World) (Controller, error)

// World is a simulated cluster, as controllers see it. Most callers want [World.NewEvictor] or, for a controller of their own,
// [World.Clients] and [World.Clock] first, and [World.Do] for what happens. Call its
// methods and those of its Clients only within Start and Step, on the goroutine that called Play, or, for a World of New,
// one at a time.
type World struct {
	player  *player
	targets []evictor.Target
	readers []*reader
	acting  []acting
	changes int                                       // number of changes to nodes and pods so far
	begun   bool                                      // every controller has been made
	hold    func(*v1.Node) (reason string, held bool) // the evictor's; nil for none

	at    time.Time // of the last step
	steps int       // at that time
}

// acting is a controller, the time of its next step, and the number of changes that it has seen.
type acting struct {
	Controller
	next time.Time
	seen int
}

// Clock returns the clock of the world: that of the Scenario, or one without timers. Step returns when to call it again.
func (w *World) Clock() clock.PassiveClock { return w.player.cluster.Clock }

// Config returns Scenario.Config, or the default if that is zero.
func (w *World) Config() evictor.Config { return w.player.scenario.Config }

// Clients returns the world's API as the interfaces that evictor.New takes. The stores show every change at once. Objects
// have only some fields: nodes have names, UIDs, labels, times, taints, spec.unschedulable, conditions, and the capacity
// and allocatable resources that they were given (allocatable is the capacity if they have no other); pods have names,
// UIDs, labels, times, nodes, tolerations, phases, conditions, controllers, the annotation of mirror pods, and one container
// that requests what the scheduler counts for the whole pod; those that Add adds have all fields. The stores leave out pods
// without a node. A target registered with Source.Feed gets every node and pod once all controllers are made, and every change
// after that. If it is a leases.Judge, the leases of nodes that are about to count as silent are read for it.
func (w *World) Clients() evictor.Clients {
	c, to := w.player.cluster, w.player.writer
	return evictor.Clients{Nodes: c, Pods: c, NodeWriter: to, PodWriter: to, Source: (*source)(w)}
}

// NewEvictor makes an evictor with the World's Config, Clients and Clock. Its decisions go to the Report and the timeline,
// and to Options.Observer if it is set. Options.Clock must be nil or the World's.
func (w *World) NewEvictor(options evictor.Options) (*evictor.Evictor, error) {
	if options.Clock != nil && options.Clock != w.Clock() {
		return nil, errors.New("options.clock: must be nil or the World's Clock: the evictor uses that")
	}
	options.Clock, options.Gate = w.Clock(), gate.All(gate.Leader(w.player.mayWrite), options.Gate)
	switch mine := options.Observer; {
	case mine == nil:
		options.Observer = w
	case !absent.Value(mine): // New reports the other case
		options.Observer = evictor.Observers{w, mine}
	}
	return evictor.New(w.Config(), w.ClientsFor(options), options)
}

// ObserveNode takes the decisions of an evictor that NewEvictor did not make, for the Report and the timeline.
func (w *World) ObserveNode(d evictor.NodeDecision) { w.player.observeNode(&d) }

// ObservePod does the same.
func (w *World) ObservePod(d evictor.PodDecision) { w.player.observePod(&d) }

// Do makes an event happen now, as if a person or another program did it. An error says what is wrong with the event,
// for example that a node does not exist; then nothing has happened. While the API is down, everything that goes through
// it fails with ServiceUnavailable. Fail, Recover, Partition, Condition, leases and the state of the API itself do not go
// through it. Call Do only within Step. A call that does not name its nodes looks at every node.
func (w *World) Do(e Event) error {
	if !w.begun {
		return errors.New("Do was called before the first Step")
	}
	return w.player.act(&e)
}

// begin makes the controllers and feeds their targets all objects.
func (w *World) begin(controllers []Start) error {
	for i, start := range controllers {
		if start == nil {
			return fmt.Errorf("controller %d: its Start is nil", i+1)
		}
		c, err := start(w)
		if err == nil && absent.Value(c) {
			err = errors.New("its Start returned nil")
		}
		if err != nil {
			return fmt.Errorf("controller %d: %w", i+1, err)
		}
		if _, process := c.(interface{ End() }); process {
			w.player.leader.process = true
		}
		w.acting = append(w.acting, acting{Controller: c})
	}
	for _, target := range w.targets {
		w.tell(target)
	}
	w.begun = true
	return nil
}

// tell feeds a target all nodes, leases and pods, as informers do with a list. An evictor needs no pods: it reads those of
// a node itself.
func (w *World) tell(target evictor.Target) {
	_, ours := target.(*evictor.Evictor)
	c := w.player.cluster
	c.Nodes(func(node *v1.Node) bool {
		target.NodeChanged(node.Name)
		if lease := c.ReadLease(node.Name); !lease.RenewTime.IsZero() {
			target.LeaseObserved(node.Name, lease.RenewTime, "")
		}
		if !ours {
			for _, pod := range c.SortedPods(node.Name) {
				target.PodChanged(pod)
			}
		}
		return true
	})
}

// source is the world as an cluster.Source. It delivers changes whether or not Run is called.
type source World

func (s *source) Feed(to evictor.Target) error {
	s.targets = append(s.targets, to)
	(*World)(s).addReader(to)
	if s.begun {
		(*World)(s).tell(to)
	}
	return nil
}

func (*source) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (*source) Awaits() string { return "" }

// ClientsFor returns the Clients for an evictor with these options that NewEvictor does not make. With Scenario.Together
// their PodWriter evicts groups.
func (w *World) ClientsFor(options evictor.Options) evictor.Clients {
	clients := w.Clients()
	w.hold = options.Hold
	if len(w.player.scenario.Together) == 0 {
		return clients
	}
	g := &leavers{world: w, stores: clients}
	clients.PodWriter = groups{told: &w.player.teller, Writer: &together.Writer{
		PodWriter: clients.PodWriter, Nodes: clients.Nodes, Pods: clients.Pods, Group: g.with, Gate: options.Gate, Domain: options.Domain,
		Check: w.player.writer.check, Clock: options.Clock,
		Held: func(node string) (reason string) {
			if i, ok := w.player.cluster.nodeByID[node]; ok {
				reason = w.holds(w.player.cluster, i)
			}
			return reason
		},
		Observer: func(d evictor.PodDecision) {
			if options.Observer != nil {
				options.Observer.ObservePod(d)
			}
		},
	}}
	return clients
}
