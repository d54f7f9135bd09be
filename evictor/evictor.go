package evictor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// Options are what a program, not an operator, decides. The zero Options are valid.
//
// While the evictor is locked it calls Policy, Domain, Excluded, Hold and Prefer, the Clock, the Node and Pod stores, Synced apart, and the Logger where
// Prefer panics: they must be fast and must neither call the evictor nor wait for somebody who does. The rest, the writers and the
// event sink are called with nothing locked.
type Options struct {
	// Clock is the real clock when nil. Step needs only Now; Run also needs timers, that is a
	// clock.Clock.
	Clock clock.PassiveClock
	// Observer is told every decision; nil means nobody.
	Observer Observer
	// Logger gets every decision, writes and failures at Info and the rest at Debug; nil means no logging.
	Logger *slog.Logger
	// Policy replaces the zone policy that Config describes. It must not call the evictor. What it says of evictions that are
	// pending (zone.Ruling.Pending) reaches those by our own taints alone: Wait holds them back until it says GoOn, and then their
	// nodes let them go one by one, at the zone's rate; Cancel gives them up and lifts the taints, and whoever is still failed at
	// its end waits for a turn anew. Without TaintBasedEviction it reaches what would be deleted after PodEvictionTimeout.
	Policy zone.Policy
	// Domain is the failure domain to which a node belongs: it counts there, and waits for that domain's rate. What the parts of
	// the key mean is the program's: a rack, a node pool. Nil means the region and zone of its labels (zone.KeyOf). A node that moves
	// takes its place along. It is asked whenever the node is read.
	Domain func(node *v1.Node) zone.Key
	// Excluded says of a node that it does not count in its domain, neither as one that is well nor as one that is not; it
	// is watched and acted on all the same. Nil means the label node.kubernetes.io/exclude-disruption (zone.Excluded). It is asked
	// whenever the node is read.
	Excluded func(node *v1.Node) bool
	// MayWrite is asked before every write and event: leadership, for example. An error stops all of them while
	// it lasts and is the reason that observers see. Nil means yes.
	MayWrite func() error
	// MayHarm is asked before new taints and evictions only; lifting and cancelling go on. Nil means yes.
	MayHarm func() error
	// MayHarmIn is MayHarm for one failure domain, and asked where MayHarm says yes: of a domain in which failed nodes wait for
	// their turn in every Step, and before each taint and eviction there. An error stops new taints and evictions of that domain
	// alone, also those that taints of others ask for. Nil means yes.
	MayHarmIn func(domain zone.Key) error
	// DryRun decides and explains everything and writes nothing: what would have been written is
	// remembered and taken for granted, so that the decisions that follow from it are seen too.
	DryRun bool
	// Hold says of a node that it is never tainted or emptied by us, and why; it is still watched. It
	// is asked whenever the node is read, must be fast and must not call the evictor. See also Evictor.Hold.
	Hold func(node *v1.Node) (reason string, held bool)
	// Prefer, when not nil, chooses which of the failed nodes that wait in a zone is tainted or emptied next;
	// they are given in the order in which they would be. A name that does not wait leaves that order, and so does a
	// panic, which is logged. It is asked when a token is there, must be fast and must not call the evictor.
	Prefer func(key zone.Key, waiting []string) (node string)
	// OnPass, when not nil, is told how long each monitor pass took, on the evictor's clock: reading what
	// changed, verdicts, zones and what follows from them, without the writes. It must be fast.
	OnPass func(took time.Duration)
	// Jitter spreads the backoff of failed writes, and the probes of an API server that fails; nil means none, which is for
	// simulations: programs that lost the same API server must not all come back at one instant.
	Jitter func(time.Duration) time.Duration
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Domain == nil {
		o.Domain = func(node *v1.Node) zone.Key { return zone.KeyOf(node.Labels) }
	}
	if o.Excluded == nil {
		o.Excluded = func(node *v1.Node) bool { return zone.Excluded(node.Labels) }
	}
	return o
}

// panicked is told of a panic of the user's code.
func (o *Options) panicked(key, value any, stack []byte) {
	if o.Logger != nil {
		o.Logger.LogAttrs(context.Background(), slog.LevelError, "evictor: a client panicked",
			slog.Any("key", key), slog.Any("panic", value), slog.String("stack", string(stack)))
	}
}

// ErrRunning is returned by Step and Run while another Step or Run of the same Evictor is active.
var ErrRunning = errors.New("evictor: another Step or Run is active")

// Evictor watches nodes and pods through its clients and decides which nodes to taint and which pods
// to evict. Its Clients' Source feeds it, or the program with NodeChanged, PodChanged and LeaseRenewed; Step or Run drive it. All
// methods are safe for concurrent use; only one Step or Run may be active.
type Evictor struct {
	active atomic.Bool
	source Source  // nil when the program feeds
	dry    *dryRun // nil but in a dry run

	mu sync.Mutex // guards engine; held over the stores and those Options that say so, never over a write
	engine
}

// New checks the configuration and the clients and returns an Evictor, which the clients' source feeds from then on. It
// starts nothing and asks the clients nothing.
func New(cfg Config, clients Clients, opts Options) (*Evictor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := faults(clients, opts).ToAggregate(); err != nil {
		return nil, err
	}
	e := &Evictor{source: clients.Source}
	if opts.DryRun {
		e.dry = newDryRun(clients.Nodes, e)
		clients = Clients{Nodes: e.dry, Pods: clients.Pods, NodeWriter: e.dry, PodWriter: e.dry}
	}
	var err error
	if e.engine, err = newEngine(cfg, clients, opts.withDefaults()); err != nil {
		return nil, err
	}
	work := timedworker.Config{
		Clock: e.clock, OnPanic: e.opts.panicked,
		Backoff: timedworker.Backoff{Initial: cfg.RetryInitial, Max: cfg.RetryMax, Factor: 2, Jitter: opts.Jitter},
	}
	perform := func(lift bool) func(context.Context, timedworker.Work[string, struct{}]) timedworker.Result {
		return func(ctx context.Context, w timedworker.Work[string, struct{}]) timedworker.Result {
			return e.perform(ctx, w.Key, lift)
		}
	}
	work.Workers = cfg.NodeWorkers
	if e.writes, err = timedworker.New(perform(false), work); err != nil {
		return nil, err
	}
	work.Workers = cfg.LiftWorkers
	if e.lifts, err = timedworker.New(perform(true), work); err != nil {
		return nil, err
	}
	work.Workers = cfg.PodWorkers
	if e.armed, err = newEvictions(work, e.evictPod); err != nil {
		return nil, err
	}
	if e.source != nil {
		if err := e.source.Feed(e, cfg); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// faults are what is missing, or there in type alone, and would panic at its first use.
func faults(clients Clients, opts Options) (errs field.ErrorList) {
	inClients, inOptions := field.NewPath("clients"), field.NewPath("options")
	for _, f := range []struct {
		path     *field.Path
		value    any
		required bool
	}{
		{inClients.Child("nodes"), clients.Nodes, true},
		{inClients.Child("pods"), clients.Pods, true},
		{inClients.Child("nodeWriter"), clients.NodeWriter, true},
		{inClients.Child("podWriter"), clients.PodWriter, true},
		{inClients.Child("eventSink"), clients.EventSink, false},
		{inClients.Child("source"), clients.Source, false},
		{inOptions.Child("clock"), opts.Clock, false},
		{inOptions.Child("observer"), opts.Observer, false},
		{inOptions.Child("policy"), opts.Policy, false},
	} {
		switch {
		case f.required && (f.value == nil || isNil(f.value)):
			errs = append(errs, field.Required(f.path, ""))
		case f.value != nil && isNil(f.value):
			errs = append(errs, field.Invalid(f.path, fmt.Sprintf("%T(nil)", f.value), "must not be nil within an interface; leave it out"))
		}
	}
	return errs
}

// isNil says whether there is nothing behind an interface but a type.
func isNil(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}

// Hold keeps a node from being tainted or emptied by us until Release. It acts at once, whatever the store shows of the node,
// which is still watched and counted; taints of ours that it carries are lifted. The reason is told to whoever asks why.
func (e *Evictor) Hold(node, reason string) {
	e.mu.Lock()
	e.holds[node] = cmp.Or(reason, "Held")
	if rec := e.records[node]; rec != nil {
		e.dequeue(rec, e.holds[node], e.tick())
		e.attention[node] = rec
	}
	e.mu.Unlock()
	e.NodeChanged(node)
}

// Release ends Hold.
func (e *Evictor) Release(node string) {
	e.mu.Lock()
	delete(e.holds, node)
	if rec := e.records[node]; rec != nil {
		e.attention[node] = rec
	}
	e.mu.Unlock()
	e.NodeChanged(node)
}
