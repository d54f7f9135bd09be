package evictor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/internal/armed"
	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// Options are settings that the program chooses, not the operator. The zero Options are valid.
//
// The evictor holds its lock while it calls Policy, Domain, Excluded, Hold, Prefer, Exceeded, the functions of Budget,
// the Clock and the stores (Synced excepted), and the Logger after Prefer panicked. These must be fast, and must neither
// call the evictor nor wait for a goroutine that does. The other options, the writers and the event sink are called with
// nothing locked, and under Run by several goroutines at once.
//
// The nodes and pods that these functions are given are the store's own, and show what the store keeps: on a cluster, what
// clientgo.Keep says. The functions must not change them, labels and annotations included, because other objects may share
// these.
type Options struct {
	// Clock is the real clock when nil; tests and simulations pass theirs. Step needs only Now; Run also needs timers, so
	// it needs a clock.Clock.
	Clock clock.PassiveClock
	// Observer receives every decision, for metrics (clientgo/metrics) or an audit; nil means nobody does.
	Observer Observer
	// Logger gets every decision. Failed writes, unanswered suspects and BoundsUnmatched are at Warn; conditions and taints
	// written, pods evicted, zone changes, permissions and Awaiting at Info; the rest at Debug. Panics of the user's code
	// are at Error. Nil means no logging.
	Logger *slog.Logger
	// Policy replaces the zone policy that Config describes: another rate for a zone that is wholly down, for example
	// (kubernetes#131314). Its word on pending evictions (zone.Ruling.Pending) applies only to evictions by our own
	// taints. Wait holds them back until the policy says GoOn; then their nodes release them one by one, at the zone's
	// rate. Cancel cancels them and lifts the taints; a node that has still failed when Cancel ends waits for a new
	// turn. Without TaintBasedEviction it applies to the pods that would be deleted after PodEvictionTimeout.
	Policy zone.Policy
	// Domain returns the failure domain of a node: the node counts there and waits for that domain's rate. The program
	// decides what the parts of the key mean: a rack, a node pool of Karpenter or OpenYurt. Nil means region and zone
	// from the node's labels (zone.KeyOf). A node that moves to another domain keeps its place in line. Domain is
	// called whenever the node is read.
	Domain func(node *v1.Node) zone.Key
	// Excluded says that a node does not count in its domain, neither as ready nor as not ready; it is watched and
	// acted on all the same: NVSentinel counts only the nodes that it manages. Nil means the label
	// node.kubernetes.io/exclude-disruption (zone.Excluded). Excluded is called whenever the node is read.
	Excluded func(node *v1.Node) bool
	// MayWrite is asked before every write and event: one of several replicas asks whether it leads (package manager). An
	// error stops all of them for as long as it lasts, and observers see it as the reason. Nil means yes.
	MayWrite func() error
	// MayHarm is asked before new taints and evictions only; lifting and cancelling go on. It is the place of a breaker
	// outside, such as Gardener's dependency-watchdog. Nil means yes.
	MayHarm func() error
	// MayHarmIn is MayHarm for one failure domain, such as an edge site that is cut off (openyurt#1197). It is asked if
	// MayHarm said yes: before each taint and eviction in the domain, and in every Step while failed nodes wait for
	// their turn there. An error stops new taints and evictions in that domain alone, including evictions by taints of
	// others, and no tokens accrue there. When the answer changes, Kick has it noticed at once. Nil means yes.
	MayHarmIn func(domain zone.Key) error
	// MayEvict, if not nil, is asked before each eviction of a pod, by whichever taints or without any: is there room
	// for it elsewhere, as the descheduler's nodeFit asks, or may it go at this hour? It is asked last, when nothing
	// else holds the eviction back. Then everything is checked once more, so an eviction that it permits may still not
	// come about, and it is asked again at the next try.
	//
	// An error refuses this eviction alone: the node's other pods leave, and its turn ends without this one. The eviction
	// stays armed for as long as it is wanted. The same question is asked again at the time that a Refusal names or, for
	// any other error, after delays that grow from Config.GateInterval to Config.RetryMax; Kick has it asked at once. The
	// error is reported once, with its text as the reason, until that changes (EvictionDelayed, Reason MayEvict). A panic
	// is logged and refuses.
	//
	// pod is what Clients.Pods shows and must not be changed; package clientgo keeps only some fields of it. why is the
	// decision that is reported if the pod is evicted: why.Time is now, why.Taint the taint, nil without taints. Several
	// pods may be asked about before the first has left, so a check of capacity must count those that it has permitted.
	MayEvict func(ctx context.Context, pod *v1.Pod, why Decision) error
	// Together names the pods that go with a pod, in any order: the others of its gang (Volcano, PodGroup), the replicas of
	// its JobSet or LeaderWorkerSet. It is asked when a pod that a taint or a failed node condemns is about to leave, after
	// MayEvict, and returns nil for a pod that leaves alone. Of those that it names, the ones leave that are bound to a node
	// and were created before the condemned pod's deadline, so replacements stay. The relation is one step: nobody asks who
	// goes with them.
	//
	// First everybody is asked about every member: MayHarm and MayHarmIn for its domain, the holds of its node, MayEvict
	// and, if Clients.PodWriter is an EvictionChecker, its disruption budgets. One no makes all of them wait, and is
	// reported once (EvictionDelayed, Reason Together), then asked again as after a no of MayEvict. If nobody refuses, all
	// leave at that instant, the condemned pod last: its taint is the only record that a next process finds. From then on
	// nothing calls them off, and only MayWrite and errors of the API delay the rest: the first of two whose budget allows
	// one is gone when the second is refused. Members cost no turn and no budget.
	//
	// pod is what Clients.Pods shows and must not be changed. Nothing is locked. A panic is logged and refuses.
	Together func(pod *v1.Pod) []PodKey
	// DryRun decides and explains everything and writes nothing, for a trial beside upstream's controller. What would
	// have been written is remembered and taken as done, so that the decisions that follow from it are made too.
	DryRun bool
	// Hold says that we must not taint or empty a node, and why: OpenYurt's annotation for autonomous nodes, for
	// example. The node is still watched. It is called whenever the node is read. See also Evictor.Hold.
	Hold func(node *v1.Node) (reason string, held bool)
	// Prefer, if not nil, chooses which of the failed nodes that wait in a zone is tainted or emptied next; Karpenter
	// ranks its candidates (RFC 3192). It is called once the zone has a token and two nodes or more could have it, with
	// the names of all that could, in the default order. A node that the budget has just refused is not among them. One
	// that waits to release overdue pods goes first, unasked. The default order stands if Prefer returns another name
	// or panics, which is logged.
	Prefer func(key zone.Key, waiting []string) (node string)
	// Budget, if not nil, is asked before each turn of a failed node. It holds the bounds of NVSentinel's breaker,
	// Karpenter's node repair or Medik8s. If it refuses, the turn costs the domain no token, observers are told once by
	// which bound (TurnRefused), and the node asks again after Config.GateInterval. The program makes the Budget, on
	// the evictor's clock, and may share it with others that act on nodes. The evictor tells it about every node that
	// has a verdict. A node counts as acted on from its taint until it is lifted; without TaintBasedEviction, from its
	// first eviction until it is ready. Taints of an earlier process count too. The evictor acts under the name
	// "evictor" (budget.Budget.As), so a new evictor on the same Budget continues what the last one began. One evictor
	// at a time may use a Budget. Half TaintEviction asks no Budget.
	//
	// Trials (budget.Unproven) are told what came of each node. One that is ready again within Config.FalseAlarmWithin
	// after its first pod left has Failed; one that is ready later, or before any pod has left, and one whose taint was
	// lifted while it was not, is Inconclusive; one that stays away, or is deleted, is unproven until Bound.Within has
	// passed. So set Unjudged to Proved, unless the program itself proves actions, and Within to more than pods tolerate
	// our taints: it counts from the taint. When the first pod left, only the evictor knows that evicted it. After a
	// restart it counts as having left when the new one came, so a trial becomes more careful and never less. In Half
	// Lifecycle it counts as having left when the taint was written.
	Budget *budget.Budget[string, Member]
	// Exceeded says what becomes of pending evictions on a node that was acted on, while a bound of Budget is exceeded
	// as things stand: Medik8s stops in a storm. The answers mean what they mean in zone.Ruling.Pending. Nil means that
	// the evictions go on. It is called in each monitor pass and, where NodeMonitorPeriod is 0, in each Step and, while
	// a node is acted on, once in each Config.GateInterval, because the budget may be shared.
	Exceeded func(bound *budget.Refusal) zone.Pending
	// OnPass, if not nil, is called after each monitor pass with the time that it took on the evictor's clock: reading
	// changes, verdicts, zones and what follows from them, without the writes. clientgo/metrics takes it. It must be fast.
	OnPass func(took time.Duration)
	// Jitter spreads the backoff of failed writes and the probes of a failing API server, so that programs which lost
	// the same API server do not all come back at one instant. Nil means none, which suits simulations; package manager
	// sets it.
	Jitter func(time.Duration) time.Duration
}

// Refusal is an error with which Options.MayEvict may say when to ask again. It may be wrapped.
type Refusal struct {
	// Reason says why, in words that do not change while the reason does not. Metrics count by it, so use few.
	Reason string
	// Again is when to ask again, by the evictor's clock, but not sooner than Config.RetryInitial. The zero time, and
	// one that has passed, mean after a delay that grows.
	Again time.Time
}

// Error returns Reason.
func (r *Refusal) Error() string { return r.Reason }

// Member is what a Budget learns about a node. Its functions must neither change Labels nor keep them.
type Member struct {
	Domain   zone.Key
	Labels   map[string]string // all of the node's, as its store shows them
	Ready    bool              // by its verdict
	Excluded bool              // by Options.Excluded, or because its maintenance is announced
	Held     bool              // by Evictor.Hold or Options.Hold, or because its maintenance is announced
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

// liftWorkers lift taints under Run, and do nothing else.
const liftWorkers = 2

// ErrRunning is the error of Step and Run while another Step or Run of the same Evictor is active.
var ErrRunning = errors.New("evictor: another Step or Run is active")

// Evictor watches nodes and pods through its clients, and decides which nodes to taint and which pods to evict. Its
// Clients' Source feeds it or, without one, the program does with NodeChanged, PodChanged and LeaseRenewed. Step or Run
// drives it. All methods are safe for concurrent use, but only one Step or Run may be active at a time. Make one with
// New.
type Evictor struct {
	active atomic.Bool
	dry    *dryRun // nil except in a dry run

	mu sync.Mutex // guards engine; held while the stores and some Options are called, never during a write
	engine
}

// New checks the configuration, the clients and the options, and returns an Evictor that the clients' Source feeds from
// then on. The error names every fault. New starts no goroutine and reads no store.
func New(cfg Config, clients Clients, opts Options) (*Evictor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := faults(clients, opts).ToAggregate(); err != nil {
		return nil, err
	}
	e := &Evictor{}
	opts = opts.withDefaults()
	if opts.DryRun {
		e.dry = newDryRun(clients.Nodes, e.NodeChanged, opts.Clock)
		clients.Nodes, clients.NodeWriter, clients.PodWriter, clients.EventSink = e.dry, e.dry, e.dry, nil
	}
	var err error
	if e.engine, err = newEngine(cfg, clients, opts); err != nil {
		return nil, err
	}
	work := timedworker.Config{
		Clock: e.opts.Clock, OnPanic: e.opts.panicked,
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
	ask := func(ctx context.Context, w timedworker.Work[string, struct{}]) timedworker.Result {
		return e.confirm(ctx, w.Key)
	}
	if e.asks, err = timedworker.New(ask, work); err != nil {
		return nil, err
	}
	work.Workers = liftWorkers
	if e.lifts, err = timedworker.New(perform(true), work); err != nil {
		return nil, err
	}
	work.Workers = cfg.PodWorkers
	if e.armed, err = armed.New(work, slotOf, e.evictPod); err != nil {
		return nil, err
	}
	if clients.Source != nil {
		if err := clients.Source.Feed(e, cfg); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// faults returns the clients and options that would panic at their first use: they are missing, or a nil pointer within
// an interface.
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
		{inClients.Child("confirmer"), clients.Confirmer, false},
		{inOptions.Child("clock"), opts.Clock, false},
		{inOptions.Child("observer"), opts.Observer, false},
		{inOptions.Child("policy"), opts.Policy, false},
	} {
		switch {
		case f.required && (absent.Value(f.value)):
			errs = append(errs, field.Required(f.path, ""))
		case f.value != nil && absent.Value(f.value):
			errs = append(errs, field.Invalid(f.path, fmt.Sprintf("%T(nil)", f.value), "must not be nil within an interface; leave it out"))
		}
	}
	return errs
}

// Hold keeps us from tainting or emptying a node until Release. It acts at once, whether or not the store shows the node
// yet. The node is still watched and counted, and our taints on it are lifted. Taints of others evict its pods all the
// same; with Half TaintEviction these include not-ready and unreachable. Decisions and NodeStatus carry the reason; an
// empty one becomes "Held".
func (e *Evictor) Hold(node, reason string) {
	e.mu.Lock()
	e.holds[node] = cmp.Or(reason, "Held")
	if rec := e.records[node]; rec != nil {
		e.tick()
		e.dequeue(rec, e.holds[node])
		e.attention[node] = rec
	}
	e.mu.Unlock()
	e.NodeChanged(node)
}

// Release ends Hold. It does nothing to a node that Options.Hold holds.
func (e *Evictor) Release(node string) {
	e.mu.Lock()
	delete(e.holds, node)
	if rec := e.records[node]; rec != nil {
		e.attention[node] = rec
	}
	e.mu.Unlock()
	e.NodeChanged(node)
}
