//go:build !thin

package evictor

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/internal/allowance"
	"github.com/evictkit/evictkit/evictor/internal/armed"
	"github.com/evictkit/evictkit/evictor/internal/gate"
	"github.com/evictkit/evictkit/evictor/internal/inbox"
	"github.com/evictkit/evictkit/evictor/internal/marks"
	"github.com/evictkit/evictkit/evictor/internal/node"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/evictor/internal/outbox"
	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/evictor/internal/turns"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// engine reads the stores, asks the packages under internal for decisions, and schedules the work that follows. It
// writes nothing and waits for nobody. All methods are called with Evictor.mu held; they cannot release it. The methods
// that make the writes are Evictor's.
type engine struct {
	cfg     Config // cfg to waits are set once
	clients Clients
	opts    Options

	inbox   *inbox.Inbox[PodKey] // inbox to armed have locks of their own
	out     *outbox.Outbox[Decision, subject]
	monitor *health.Monitor
	writes  *timedworker.Set[string, struct{}]
	lifts   *timedworker.Set[string, struct{}]
	asks    *timedworker.Set[string, struct{}] // questions about suspects
	armed   *armed.Evictions[PodKey, *pods.Eviction]
	waits   outage.Waits

	started     bool
	begun       time.Time     // when all heartbeat clocks last started, in our time
	awaited     string        // what is missing before anything is decided, as last reported
	now         time.Time     // our time, which never goes back
	read        time.Time     // the last reading of the clock, for packages that handle a clock set back themselves
	ahead       time.Duration // now minus read: by how much the clock was set back in all
	records     map[string]*record
	zones       *zone.Tracker[string, zone.Key]
	turns       *turns.Turns
	attention   map[string]*record // to be looked at in the next pass
	suspects    map[string]*suspicion
	unasked     int       // how many of them were not asked about yet
	silent      []string  // the suspects of which that is the answer, until conclude
	awaitsSince time.Time // since when they, or zones, have awaited conclude, in our time; zero if none do
	left        bool      // a node has gone since the last pass, so zones may have changed
	pods        pods.Pods
	outage      *outage.Outage[task]
	holds       map[string]string
	pooled      bool // Run's workers make the writes, which may have to wait for a worker
	gates       *gate.Gates
	allowance   *allowance.Allowance
	marks       *marks.Marks
}

// newEngine returns an engine without writes, lifts, asks and armed, which New adds.
func newEngine(cfg Config, clients Clients, opts Options) (e engine, err error) {
	e = engine{
		cfg:       cfg,
		clients:   clients,
		opts:      opts,
		records:   make(map[string]*record),
		attention: make(map[string]*record),
		suspects:  make(map[string]*suspicion),
		holds:     make(map[string]string),
		gates:     gate.New(cfg.GateInterval),
		inbox:     inbox.New[PodKey](),
		out:       outbox.New(outbox.Ring[Decision, subject]{Size: cfg.ExplainSize, About: about, Repeat: repeat}),
		pods:      pods.New(pods.By{Taints: cfg.Half != Lifecycle, Emptying: cfg.empties()}, taints.Matcher{NumericOperators: cfg.NumericTolerations}, cfg.own),
		waits:     outage.NewWaits(cfg.RetryInitial, cfg.RetryMax, cfg.GateInterval, cfg.NodeMonitorPeriod, opts.Jitter),
	}
	e.marks = marks.New()
	e.outage = outage.New[task](e.waits.Probe)
	e.allowance = allowance.New(nil, nil, 0, 0)
	switch {
	case cfg.Half == TaintEviction: // it acts on no node
		e.opts.Budget = nil
	case opts.Budget != nil:
		e.opts.Budget = opts.Budget.As("evictor")
		e.allowance = allowance.New(e.opts.Budget, opts.Exceeded, cfg.GateInterval, cmp.Or(cfg.FalseAlarmWithin, cfg.NodeMonitorGracePeriod))
	}
	if e.monitor, err = health.NewMonitor(cfg.health(opts.Clock, clients.Confirmer != nil)); err != nil {
		return e, err
	}
	policy := opts.Policy
	if policy == nil {
		policy = cfg.policy()
	}
	if e.zones, err = zone.NewTracker[string](policy); err != nil {
		return e, err
	}
	initial := policy.Decide(zone.Situation{State: zone.Initial, Before: zone.Initial, Now: e.opts.Clock.Now()})
	e.turns, err = turns.New(turns.Config{
		Rate: initial.Rate, MaxRate: cfg.MaxNodesPerSecond, MaxActed: cfg.MaxFailedNodes,
		Prefer: opts.Prefer, OnPanic: opts.panicked,
	}, e.opts.Clock.Now())
	return e, err
}

// record is what the evictor remembers of one node.
type record struct {
	node.Record
	name   string
	uid    types.UID
	seen   time.Time // when it was first seen, in our time
	domain zone.Key  // where it counts and waits; the next pass replaces it by Record.Zone

	labels  map[string]string // as last shown, for the budget; nil without one
	another string            // the version of another node of this name that the store showed last
	busy    bool              // a write is in flight

	pods      pods.Node
	allowance allowance.Node
}

// tick reads the clock, for now, read and ahead. If the clock was set back, no time has passed; from then on it counts as
// usual.
func (e *engine) tick() {
	read := e.opts.Clock.Now()
	e.ahead += max(0, e.read.Sub(read))
	e.read, e.now = read, read.Add(e.ahead)
}

// shown converts an instant of our time to what the clock will show then, unless it is set meanwhile.
func (e *engine) shown(ours time.Time) time.Time { return ours.Add(-e.ahead) }

// decide records a decision for the next deliver. It was made now, unless it says when.
func (e *engine) decide(d Decision) {
	if e.cfg.Half == TaintEviction && (d.Kind == NodeRegistered || d.Kind == NodeRemoved) {
		return // this half does not watch nodes
	}
	d.Time, d.DryRun = cmp.Or(d.Time, e.shown(e.now)), e.opts.DryRun
	e.out.Add(d, e.opts.Observer != nil || e.opts.Logger != nil || e.clients.EventSink != nil)
}

// due says whether what next announces is due now.
func due(next func(now time.Time) (time.Time, bool), now time.Time) bool {
	at, some := next(now)
	return some && !now.Before(at)
}

// soonest is the earliest of some instants, or zero.
type soonest struct{ time.Time }

// or takes one more instant into account, if there is one.
func (s *soonest) or(at time.Time, some bool) {
	if some && (s.IsZero() || at.Before(s.Time)) {
		s.Time = at
	}
}
