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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/internal/inbox"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/evictor/internal/outbox"
	"github.com/evictkit/evictkit/evictor/internal/permit"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/evictor/internal/turns"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/taints"
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

// ErrRunning is returned by Step and Run while another Step or Run of the same Evictor is active.
var ErrRunning = errors.New("evictor: another Step or Run is active")

// record is what the evictor remembers of one node, and what it does about it. It is guarded by Evictor.mu.
type record struct {
	node.Record
	name string
	uid  types.UID
	seen time.Time // when it was first seen, in our time
	zone zone.Key  // where it counts and waits; Record.Zone from the next pass on

	busy    bool              // a write is in flight under Run
	turn    *turns.Turn       // what that counts on, nil for none
	refused permit.Permission // for want of which that left harm out, 0 for none: its worker's alone

	pods pods.Node
}

// Evictor watches nodes and pods through its clients and decides which nodes to taint and which pods
// to evict. Its Clients' Source feeds it, or the program with NodeChanged, PodChanged and LeaseRenewed; Step or Run drive it. All
// methods are safe for concurrent use; only one Step or Run may be active.
type Evictor struct {
	cfg     Config
	clients Clients
	opts    Options
	source  Source // nil when the program feeds
	clock   clock.PassiveClock
	dry     *dryRun // nil but in a dry run

	active atomic.Bool
	inbox  *inbox.Inbox[PodKey]
	out    *outbox.Outbox[Decision, subject]

	monitor  *health.Monitor
	writes   *timedworker.Set[string, struct{}]
	lifts    *timedworker.Set[string, struct{}]
	armed    *evictions
	refusal  timedworker.Backoff // of evictions that the API server refuses
	conflict timedworker.Backoff // of what the API server did not accept because it was old

	mu        sync.Mutex // guards what follows and every record; held over the stores and those Options that say so, never over a write
	started   bool
	awaited   string        // what nothing is decided for want of, as it was told last
	now       time.Time     // ours, which never goes back
	read      time.Time     // latest reading of the clock, for those who see to that themselves
	ahead     time.Duration // of read is now: by so much the clock was set back
	records   map[string]*record
	zones     *zone.Tracker[string, zone.Key]
	turns     *turns.Turns
	attention map[string]*record // to be looked at in the next pass
	left      bool               // a node is gone since the last pass, which may change what zones there are
	pods      pods.Pods
	outage    *outage.Outage[task]
	holds     map[string]string
	pooled    bool // the writes are made by Run's workers, and may wait for one
	permitted *permit.Permits
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
	if opts.Domain == nil {
		opts.Domain = func(node *v1.Node) zone.Key { return zone.KeyOf(node.Labels) }
	}
	if opts.Excluded == nil {
		opts.Excluded = func(node *v1.Node) bool { return zone.Excluded(node.Labels) }
	}
	opts = opts.withDefaults()
	e := &Evictor{
		cfg:       cfg,
		clients:   clients,
		opts:      opts,
		source:    clients.Source,
		clock:     opts.Clock,
		records:   make(map[string]*record),
		attention: make(map[string]*record),
		holds:     make(map[string]string),
		permitted: permit.New(cfg.GateInterval),
		inbox:     inbox.New[PodKey](),
		out:       outbox.New(outbox.Ring[Decision, subject]{Size: cfg.ExplainSize, About: about, Repeat: repeat}),
		outage:    outage.New[task](probeInterval(cfg)),
	}
	e.pods = pods.New(taints.Matcher{NumericOperators: cfg.NumericTolerations}, e.own)
	if opts.DryRun {
		e.dry = newDryRun(clients, e)
		e.clients = e.dry.clients()
	}
	healthConfig := cfg.health()
	healthConfig.Clock = opts.Clock
	var err error
	if e.monitor, err = health.NewMonitor(healthConfig); err != nil {
		return nil, err
	}
	policy := opts.Policy
	if policy == nil {
		policy = cfg.policy()
	}
	if e.zones, err = zone.NewTracker[string](policy); err != nil {
		return nil, err
	}
	initial := policy.Decide(zone.Situation{State: zone.Initial, Before: zone.Initial, Now: e.clock.Now()})
	turnsConfig := cfg.turns(initial.Rate)
	turnsConfig.Prefer, turnsConfig.OnPanic, turnsConfig.Clock = opts.Prefer, e.panicked, opts.Clock
	if e.turns, err = turns.New(turnsConfig); err != nil {
		return nil, err
	}
	backoff := timedworker.Backoff{Initial: cfg.RetryInitial, Max: cfg.RetryMax, Factor: 2, Jitter: opts.Jitter}
	e.conflict = timedworker.Backoff{Initial: cfg.RetryInitial, Factor: 2, Max: max(cfg.RetryInitial, min(cfg.RetryMax, maxConflictWait)), Jitter: opts.Jitter}
	e.refusal = timedworker.Backoff{Initial: min(cfg.GateInterval, cfg.RetryMax), Factor: 2, Max: cfg.RetryMax, Jitter: opts.Jitter}
	work := func(workers int) timedworker.Config {
		return timedworker.Config{Workers: workers, Clock: opts.Clock, Backoff: backoff, OnPanic: e.panicked}
	}
	perform := func(lift bool) func(context.Context, timedworker.Work[string, struct{}]) timedworker.Result {
		return func(ctx context.Context, w timedworker.Work[string, struct{}]) timedworker.Result {
			return e.perform(ctx, w.Key, lift)
		}
	}
	if e.writes, err = timedworker.New(perform(false), work(cfg.NodeWorkers)); err != nil {
		return nil, err
	}
	if e.lifts, err = timedworker.New(perform(true), work(cfg.LiftWorkers)); err != nil {
		return nil, err
	}
	if e.armed, err = newEvictions(work(cfg.PodWorkers), e.evictPod); err != nil {
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
	for _, client := range []struct {
		name  string
		value any
	}{{"nodes", clients.Nodes}, {"pods", clients.Pods}, {"nodeWriter", clients.NodeWriter}, {"podWriter", clients.PodWriter}} {
		if client.value == nil || isNil(client.value) {
			errs = append(errs, field.Required(field.NewPath("clients", client.name), ""))
		}
	}
	for _, option := range []struct {
		path  *field.Path
		value any
	}{
		{field.NewPath("clients", "eventSink"), clients.EventSink},
		{field.NewPath("clients", "source"), clients.Source},
		{field.NewPath("options", "clock"), opts.Clock},
		{field.NewPath("options", "observer"), opts.Observer},
		{field.NewPath("options", "policy"), opts.Policy},
	} {
		if option.value != nil && isNil(option.value) {
			errs = append(errs, field.Invalid(option.path, fmt.Sprintf("%T(nil)", option.value), "must not be nil within an interface; leave it out"))
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

// tick reads the clock and returns our time; e.mu is held. When the clock was set back no time has passed, and what follows counts.
func (e *Evictor) tick() time.Time {
	read := e.clock.Now()
	e.ahead += max(0, e.read.Sub(read))
	e.read, e.now = read, read.Add(e.ahead)
	return e.now
}

// shown is what the clock shows at an instant of our time, if nobody sets it meanwhile; e.mu is held.
func (e *Evictor) shown(ours time.Time) time.Time { return ours.Add(-e.ahead) }

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

func (e *Evictor) panicked(key, value any, stack []byte) {
	if e.opts.Logger != nil {
		e.opts.Logger.LogAttrs(context.Background(), slog.LevelError, "evictor: a client panicked",
			slog.Any("key", key), slog.Any("panic", value), slog.String("stack", string(stack)))
	}
}
