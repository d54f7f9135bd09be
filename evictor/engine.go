package evictor

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
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

// engine reads the stores, asks the rooms, and schedules what follows from their answers. It writes nothing and waits for nobody:
// whoever calls a method of it holds Evictor.mu, which none of them can take. What does the work is Evictor's.
type engine struct {
	cfg     Config // what stands here down to waits is never changed
	clients Clients
	opts    Options
	clock   clock.PassiveClock

	inbox   *inbox.Inbox[PodKey] // these have a lock of their own
	out     *outbox.Outbox[Decision, subject]
	monitor *health.Monitor
	writes  *timedworker.Set[string, struct{}]
	lifts   *timedworker.Set[string, struct{}]
	armed   *evictions
	waits   waits

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

// newEngine returns one whose work has nobody yet who does it.
func newEngine(cfg Config, clients Clients, opts Options) (e engine, err error) {
	e = engine{
		cfg:       cfg,
		clients:   clients,
		opts:      opts,
		clock:     opts.Clock,
		records:   make(map[string]*record),
		attention: make(map[string]*record),
		holds:     make(map[string]string),
		permitted: permit.New(cfg.GateInterval),
		inbox:     inbox.New[PodKey](),
		out:       outbox.New(outbox.Ring[Decision, subject]{Size: cfg.ExplainSize, About: about, Repeat: repeat}),
		outage:    outage.New[task](probeInterval(cfg)),
		pods:      pods.New(cfg.evicts(), taints.Matcher{NumericOperators: cfg.NumericTolerations}, cfg.own),
		waits:     cfg.waits(opts.Jitter),
	}
	if e.monitor, err = health.NewMonitor(cfg.health(opts.Clock)); err != nil {
		return e, err
	}
	policy := opts.Policy
	if policy == nil {
		policy = cfg.policy()
	}
	if e.zones, err = zone.NewTracker[string](policy); err != nil {
		return e, err
	}
	initial := policy.Decide(zone.Situation{State: zone.Initial, Before: zone.Initial, Now: e.clock.Now()})
	e.turns, err = turns.New(turns.Config{
		Rate: initial.Rate, MaxRate: cfg.MaxNodesPerSecond, MaxFailed: cfg.MaxFailedNodes,
		Prefer: opts.Prefer, OnPanic: opts.panicked, Clock: opts.Clock,
	})
	return e, err
}

// record is what the evictor remembers of one node, and what it does about it.
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

// tick reads the clock and returns our time. When the clock was set back no time has passed, and what follows counts.
func (e *engine) tick() time.Time {
	read := e.clock.Now()
	e.ahead += max(0, e.read.Sub(read))
	e.read, e.now = read, read.Add(e.ahead)
	return e.now
}

// shown is what the clock shows at an instant of our time, if nobody sets it meanwhile.
func (e *engine) shown(ours time.Time) time.Time { return ours.Add(-e.ahead) }
