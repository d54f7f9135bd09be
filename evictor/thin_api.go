//go:build thin

package evictor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/zone"
)

// Options are settings that the program chooses, not the operator. The zero Options are valid.
//
// The evictor holds its lock while it calls Policy, Domain, Excluded, Hold, Prefer, Exceeded, the functions of Budget,
// the Clock and the stores (except Synced), and the Logger after Prefer has panicked. These must be fast, and must
// neither call the evictor nor wait for a goroutine that does. The evictor calls the other options, the writers and the
// event sink with nothing locked, and under Run from several goroutines at once.
//
// The nodes and pods that these functions get are the store's own, and show what the store keeps: on a cluster, what
// clientgo.Keep says. The functions must not change them, nor their labels and annotations, which other objects may
// share.
type Options struct {
	// Clock is the real clock when nil; tests and simulations pass theirs. Step needs only Now; Run also needs timers, so
	// it needs a clock.Clock.
	Clock clock.PassiveClock
	// Observer receives every decision, for metrics (clientgo/metrics) or an audit; it may be nil.
	Observer Observer
	// Logger gets every decision. Failed writes, unanswered suspects and BoundsUnmatched are at Warn; conditions and taints
	// written, pods evicted, zone changes, permissions, refused turns, SuspectAlive and Awaiting at Info; the rest at Debug.
	// Panics of the user's code are at Error. Nil means no logging.
	Logger *slog.Logger
	// Policy replaces the zone policy that Config describes: another rate for a zone that is wholly down, for example
	// (kubernetes#131314). Its word on pending evictions (zone.Ruling.Pending) applies only to evictions by our own taints
	// or, without TaintBasedEviction, to the deletions after PodEvictionTimeout. Wait holds them back until the policy
	// says GoOn; then they go node by node, at the zone's rate. Cancel cancels them and lifts the taints; a node that has
	// still failed when Cancel ends waits for a new turn.
	Policy zone.Policy
	// Domain returns the failure domain of a node: the node counts there and waits for that domain's rate. The program
	// decides what the parts of the key mean: a rack, a node pool of Karpenter or OpenYurt. Nil means region and zone from
	// the node's labels (zone.KeyOf). A node that moves to another domain keeps its place in line. The evictor calls
	// Domain whenever it reads the node.
	Domain func(node *v1.Node) zone.Key
	// Excluded says that a node does not count in its domain, neither as ready nor as not ready; NVSentinel, for example,
	// counts only the nodes that it manages. The evictor still watches the node and acts on it. Nil means the label
	// node.kubernetes.io/exclude-disruption (zone.Excluded). The evictor calls Excluded whenever it reads the node.
	Excluded func(node *v1.Node) bool
	// MayWrite permits each write and event; with several replicas, it says whether this one leads (package manager). An
	// error stops all writes for as long as it lasts, and observers see it as the reason. A nil function means yes.
	MayWrite func() error
	// MayHarm permits each new taint and eviction, or stops it with an error; lifting and cancelling need no permission.
	// Use it for an external breaker, such as Gardener's dependency-watchdog. A nil function means yes.
	MayHarm func() error
	// MayHarmIn is MayHarm for one failure domain, such as an edge site that is cut off (openyurt#1197). The evictor asks
	// it after MayHarm has said yes: before each taint and eviction in the domain, and in every Step while failed nodes
	// wait for their turn there. An error stops new taints and evictions in that domain alone, including evictions by
	// taints of others, and no tokens accrue there. NoSchedule taints wait too, so a scheduler may still put pods there.
	// Kick makes the evictor ask at once; call it when the answer changes. A nil function means yes.
	MayHarmIn func(domain zone.Key) error
	// MayEvict, if not nil, permits each single eviction, by our taints, by others' or without any: is there room for the
	// pod elsewhere, as the descheduler's nodeFit asks, or may it go at this hour? The evictor asks it last, when nothing
	// else holds the eviction back. Then it checks everything once more, so an eviction that MayEvict permits may still
	// not happen; the next try asks again.
	//
	// An error refuses this eviction alone: the node's other pods leave, and its turn ends without this one. The eviction
	// stays armed for as long as it is wanted. The evictor asks again at the time that a Refusal names or, after any other
	// error, with delays that grow from Config.GateInterval to Config.RetryMax; Kick makes it ask at once. It reports an
	// error once, and again when its text changes (EvictionDelayed, Reason MayEvict). A panic is logged and refuses.
	//
	// pod is what Clients.Pods shows, of which package clientgo keeps only some fields; do not change it. why is the
	// decision that the evictor reports if it evicts the pod. why.Time is now. why.Taint is the taint, nil without taints.
	// The pod began to tolerate it at why.Deadline less why.Tolerated; a restart does not change that instant. MayEvict may
	// call the Evictor. The evictor may ask about several pods before the first has left, so a check of capacity must count
	// the pods that it has permitted.
	MayEvict func(ctx context.Context, pod *v1.Pod, why Decision) error
	// Together names the pods that must leave with a pod, in any order: the others of its gang (Volcano, PodGroup), the
	// replicas of its JobSet or LeaderWorkerSet. It returns nil for a pod that leaves alone. The evictor asks it, after
	// MayEvict, when a pod that a taint or a failed node condemns is about to leave. A named pod leaves with it only if it
	// is bound to a node and was created before the condemned pod's deadline, so replacements stay, even if the condemned
	// pod leaves much later. Pods that have ended, mirror pods and terminating ones are left alone. The evictor does not ask
	// who must leave with the named pods.
	//
	// First the evictor asks all permissions for every member: MayHarm, MayHarmIn for its domain, the holds of its node,
	// MayEvict with why.With set to the condemned pod and, if Clients.PodWriter is an EvictionChecker, its disruption
	// budgets. One refusal makes all of them wait. The evictor reports it once (EvictionDelayed, Reason Together) and asks
	// again as after a refusal by MayEvict. If nothing refuses, all leave at that instant, the condemned pod last, because
	// its taint is the only record for the next process. From then on nothing calls the evictions off, and only MayWrite and
	// API errors delay the rest: if a disruption budget allows one of two, the first is gone when the second is refused.
	// Members cost no turn and no budget.
	//
	// pod is what Clients.Pods shows; do not change it. The evictor holds no lock while it calls Together. A panic is
	// logged and refuses.
	Together func(pod *v1.Pod) []PodKey
	// DryRun decides and explains everything and writes nothing, for a trial beside upstream's controller. The evictor
	// remembers each write that it leaves out, and takes it as done, so that it also makes the decisions that follow.
	DryRun bool
	// Hold says that the evictor must not taint or empty a node, and why: OpenYurt's annotation for autonomous nodes, for
	// example. Taints of others still evict its pods, unless MayEvict refuses that. The evictor still watches the node. It
	// calls Hold whenever it reads the node. See also Evictor.Hold.
	Hold func(node *v1.Node) (reason string, held bool)
	// Prefer, if not nil, chooses which of the failed nodes that wait in a zone is tainted or emptied next; Karpenter
	// ranks its candidates (RFC 3192). The evictor calls it when the zone has a token and two nodes or more could have it,
	// with the names of these nodes in the default order, without one that the budget has just refused. A node that waits
	// to release overdue pods goes first, without a call. The default order stands if Prefer returns another name or
	// panics, which is logged.
	Prefer func(key zone.Key, waiting []string) (node string)
	// Budget, if not nil, permits each turn of a failed node. It can hold the bounds of NVSentinel's breaker, Karpenter's
	// node repair or Medik8s. If it refuses, the turn costs the domain no token; the evictor reports the bound once
	// (TurnRefused), and asks again after Config.GateInterval. The program makes the Budget, on the evictor's clock, and
	// may share it with others that act on nodes. The evictor Sets every node that has a verdict. A node counts as acted
	// on from its taint until the taint is lifted; without TaintBasedEviction, from its first eviction until it is ready.
	// Taints of an earlier process count too. So a bound on budget.Bad or budget.Unavailable can stop the evictor itself:
	// once more nodes have failed than the bound allows, none of them is tainted. If a bound is meant for another program,
	// let it exempt failed nodes (budget.Bound.Without). The evictor acts under the name "evictor" (budget.Budget.As), so a
	// new evictor on the same Budget continues what the last one began. One evictor at a time may use a Budget. Half
	// TaintEviction asks no Budget.
	//
	// For trials (budget.Unproven), the evictor Judges each node. One that is ready again within Config.FalseAlarmWithin
	// after its first pod left has Failed. One that is ready later, or before any pod has left, is Inconclusive, and so is
	// one whose taint was lifted while it was not ready. One that stays away, or is deleted, is unproven until
	// Bound.Within has passed. So set Unjudged to Proved, unless the program itself proves actions, and set Within, which
	// counts from the taint, to longer than pods tolerate our taints. Only the evictor that evicted a node's first pod
	// knows when that was. After a restart, the pod counts as having left when the new evictor started, so a trial becomes
	// more careful and never less. In Half Lifecycle it counts as having left when the taint was written.
	Budget *budget.Budget[string, Member]
	// Exceeded says what becomes of pending evictions on a node that the evictor has acted on while a bound of Budget
	// is exceeded, for example to stop in a storm, as Medik8s does. It needs Budget. The answers mean the same as in
	// zone.Ruling.Pending. A nil function means that the evictions go on. The evictor calls it in each monitor pass. If
	// NodeMonitorPeriod is 0, it calls it in each Step and, while it acts on a node, once in each Config.GateInterval,
	// because others may share the budget.
	Exceeded func(bound *budget.Refusal) zone.Pending
	// OnPass, if not nil, gets the duration of each monitor pass by the evictor's clock: reading changes, verdicts, zones
	// and what follows from them, without the writes. clientgo/metrics has such a function. It must be fast.
	OnPass func(took time.Duration)
	// Jitter spreads the backoff of failed writes and the probes of a failing API server, so that programs that lost the
	// same API server do not all return at one instant. Nil means no jitter, which suits simulations; package manager sets
	// it.
	Jitter func(time.Duration) time.Duration
}

// Refusal is an error with which Options.MayEvict may say when to ask again. It may be wrapped.
type Refusal struct {
	// Reason says why. The same reason must have the same text each time. Metrics count by it, so use few texts.
	Reason string
	// Again is when to ask again, by the evictor's clock, but not sooner than after Config.RetryInitial. The zero time, or
	// one that has passed, means a delay that grows.
	Again time.Time
}

// Error returns Reason.
func (r *Refusal) Error() string {
	if r == nil {
		return "a nil *evictor.Refusal is an error all the same: return nil itself to permit the eviction"
	}
	return cmp.Or(r.Reason, "an evictor.Refusal without a Reason")
}

// Member is what a Budget learns about a node. The functions of the Budget must neither change Labels nor keep them.
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

// Confirmer says whether a silent node is alive, before its verdict becomes Unknown: heartbeats may have got lost on
// their way. The Confirmer of package clientgo reads the node's lease from the API server. Others may ask a BMC or a
// hypervisor.
type Confirmer interface {
	// Confirm answers for one node. The evictor calls it with nothing locked, and under Run from up to Config.NodeWorkers
	// goroutines at once, in the order in which the nodes' grace periods ended. An error counts as Unanswered and says
	// why. Confirm must return when the context ends, and should give up before a grace period has passed.
	Confirm(ctx context.Context, suspect Suspect) (Answer, error)
}

// ConfirmFunc is a function that is a Confirmer.
type ConfirmFunc func(ctx context.Context, suspect Suspect) (Answer, error)

// Confirm calls the function.
func (f ConfirmFunc) Confirm(ctx context.Context, suspect Suspect) (Answer, error) {
	return f(ctx, suspect)
}

// Suspect is a node that has been silent for its grace period. Its verdict stays as it was until a Confirmer answers.
type Suspect struct {
	Node string
	UID  types.UID
	// Due is when its grace period ended, by the evictor's clock.
	Due time.Time
	// Waiting is how many suspects wait for an answer now, this one included. If there are many, one question about all of
	// them may be cheaper.
	Waiting int
	// Lease takes the node's lease as the Confirmer has just read it, notes it as LeaseObserved does, and returns the
	// answer that follows: Alive if the lease is a sign of life, Silent if the evictor knew it already.
	Lease func(renewTime time.Time, resourceVersion string) Answer
}

// Answer says whether a silent node is alive: [Alive], [Silent] or, if nobody knows, [Unanswered].
type Answer uint8

// The answers.
const (
	// Unanswered: nobody knows. The node stays a suspect, which counts in its domain and in the budget as before. The
	// evictor asks again with backoff, from Config.RetryInitial to Config.RetryMax, or as soon as the API server answers
	// again if the API server had not answered.
	Unanswered Answer = iota
	// Alive: it counts as a heartbeat now.
	Alive
	// Silent: its verdict becomes Unknown.
	Silent
)

// String returns the name of the constant.
func (a Answer) String() string {
	if names := [...]string{"Unanswered", "Alive", "Silent"}; int(a) < len(names) {
		return names[a]
	}
	return fmt.Sprintf("Answer(%d)", uint8(a))
}

// EvictionChecker is an optional interface of a PodWriter whose Evict respects disruption budgets.
type EvictionChecker interface {
	// CheckEviction returns the error that Evict would return now, and evicts nothing. The evictor calls it for each of
	// several pods that leave together (Options.Together), before it evicts the first.
	CheckEviction(ctx context.Context, pod PodRef, why Decision) error
}

// NodeStatus is a copy of what the evictor knows about a node.
type NodeStatus struct {
	// Verdict is the last one, but its LastBeat is as of now. So a verdict of Unknown can come at the first pass after
	// LastBeat plus Grace.
	Verdict health.Verdict
	Zone    zone.Key
	// Held is why the node is held, or the condition that announces its maintenance (Config.MaxAnnounced); empty means
	// neither.
	Held string
	// HeldBack is what holds back our taints on the node and evictions by them: a pause, MayHarm or MayHarmIn, the zone
	// policy, or an exceeded bound of Options.Budget, which holds back only evictions. Nil means none of these. MayWrite
	// does not show here.
	HeldBack error
	// Waiting says that the node is in its zone's queue.
	Waiting bool
	// Evictions is how many of its pods have an eviction armed. Refused is how many of these wait because Options.MayEvict
	// refuses them, or because a pod that must leave with them was refused (Options.Together).
	Evictions, Refused int
	// Unanswered is why Clients.Confirmer could not say whether the node, a suspect (Verdict.Suspect), is alive.
	Unanswered error
}

// Eviction is an armed eviction: the pod has to leave, and has not yet.
type Eviction struct {
	Pod PodRef
	// Due is when the evictor tries it next: at its deadline, or later if something held it back or it failed. If it waits
	// for its node's turn, the evictor tries it when the turn comes (Waiting.Turn), even if that is earlier.
	Due time.Time
	// Attempt is how many tries have failed so far. A refusal is no failure.
	Attempt int
	// Refused is the error with which Options.MayEvict refuses it, or with which a pod that must leave with it was
	// refused; nil if neither holds it back. The evictor asks again at Due.
	Refused error
	// Why is the decision that armed or last moved it, with the taint, the toleration and the deadline.
	Why Decision
}

// Backlog is the work of one sort that waits.
type Backlog struct {
	// Name is "nodes" (failed nodes that wait for their turn), "evictions" (armed ones), "writes" (nodes to write),
	// "lifts" (nodes with taints to lift) or "suspects" (silent nodes that nobody has answered for).
	Name string
	Len  int
	// Oldest is how long the first of them has waited: a node for its turn, an eviction since its deadline, a write
	// since it was last due, a suspect since its grace period ended. It is 0 when nothing waits or nothing is due.
	Oldest time.Duration
}
