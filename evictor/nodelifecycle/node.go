package nodelifecycle

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/internal/environment"
	"github.com/evictkit/evictkit/evictor/internal/seen"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/ratelimitqueue"
	"github.com/evictkit/evictkit/timedworker"
	"github.com/evictkit/evictkit/zone"
)

// engine is everything that the controller's lock guards. Its methods are called with the lock held, the controller's
// without.
type engine struct {
	mu      environment.Lock // never held during a write, nor while the Gate is asked
	cfg     Config
	clients Clients
	opts    Options
	around  *environment.Environment

	started bool
	begun   time.Time // when all heartbeat clocks last started
	blind   bool      // the evictor cannot see the cluster: verdicts are frozen

	monitor *health.Monitor
	zones   *zone.Tracker[string]
	turns   *ratelimitqueue.Group[zone.Key, turnKey, struct{}]
	writes  *timedworker.Set[string, struct{}]
	lifts   *timedworker.Set[string, struct{}]
	marks   *timedworker.Set[cluster.PodRef, struct{}]
	deletes *timedworker.Set[cluster.PodRef, struct{}]

	nodes     map[string]*node
	attention map[string]*node // to be considered in the next pass
	holds     map[string]string
	closed    map[zone.Key]bool // where harm is refused, as last reported
	mute      bool              // writes are refused, as last reported
	unread    map[string]*node  // whose leases are not known
	reads     bool              // somebody asks for Silent, and reads leases
	unheard   bool              // it was reported that nobody does
	changed   []string          // nodes whose standing has changed, for whoever evicts by their taints
	left      bool              // a node has gone since the last pass, so zones may have changed
	turnsOut  int
	planned   time.Time     // the last Plan
	counted   time.Time     // when listened was last brought up to date
	listened  time.Duration // for how long we had listened by then
}

// turnKey is what waits for its zone's rate: a node to be tainted or emptied or, with release, to release pods that became
// overdue while evicting them was not permitted.
type turnKey struct {
	node    string
	uid     types.UID
	release bool
}

func (n *node) turnKey(release bool) turnKey { return turnKey{n.name, n.uid, release} }

type turn = ratelimitqueue.Item[turnKey, struct{}]

// decide records a decision for the next deliver.
func (e *engine) decide(d Decision) {
	if e.opts.Observer != nil {
		d.Time = e.mu.Shown(e.mu.Now)
		e.around.Out.Add(func() { e.opts.Observer(d) })
	}
}

// backoff is that of failed writes.
func (e *engine) backoff() timedworker.Backoff {
	return timedworker.Backoff{Initial: e.cfg.RetryInitial, Max: e.cfg.RetryMax, Factor: 2, Jitter: e.opts.Jitter}
}

func sortedKeys[M ~map[string]V, V any](m M) []string { return slices.Sorted(maps.Keys(m)) }

// node is what is remembered of one node.
type node struct {
	name      string
	uid       types.UID
	seen      time.Time
	verdict   health.Verdict     // zero before the first
	announced v1.ConditionStatus // by the last NodeVerdict
	domain    zone.Key           // where it counts and waits; the next pass replaces it by belongs

	// as of the last look at its object
	belongs  zone.Key
	excluded bool
	hold     string
	says     v1.ConditionStatus // its Ready condition
	tainted  bool               // it has our NoExecute taint
	taints   seen.Taints        // and since when

	early    bool      // it failed before the clocks started or restarted, and is watched for one more grace period
	unread   error     // why its lease is not known, nil if it is
	read     time.Time // when it last was
	heard    bool      // its verdict is Unknown, and a heartbeat was seen since
	status   status    // whether that it is silent is in its status
	wroteTo  string    // the version of the object to which that was last written: while the store shows it, it lags
	unshown  *unshown  // what its last turn wrote, or may have written, and the store does not show
	turn     *turn
	refused  *gate.Refused       // why its turn was
	held     *gate.Refused       // what held back all of its pods in its last turn
	overdue  bool                // pods of it wait for a turn to be released
	released bool                // they were, since no pod might leave the domain
	busy     bool                // a write is in flight
	failures int                 // of writes, in a row
	pods     map[types.UID]ofPod // what is remembered of its pods in this outage
	told     standing            // as whoever evicts was last told

	emptying
}

// unshown is what a turn has written, or may have written, and the store does not show yet.
type unshown struct {
	certain bool          // it was written
	version string        // of the object when it was sent
	until   time.Duration // of the time in which we listened: after that, nothing was done; 0 while the store cannot know
}

// lost says whether the node's turn is not over because nobody knows whether what it wrote was done.
func (n *node) lost() bool { return n.unshown != nil && !n.unshown.certain }

// ofPod is what is remembered of a pod of a failed node.
type ofPod struct {
	version uint64 // of the object last seen
	marked  bool   // it was marked not Ready
	spared  bool   // it was reported to stay
}

// sees notes an object of a pod. It returns false for one that is older than one seen before.
func (n *node) sees(pod *v1.Pod) bool {
	is, version := n.pods[pod.UID], seen.Version(pod.ResourceVersion)
	if version < is.version {
		return false
	}
	is.version = version
	n.keep(pod.UID, is)
	return true
}

func (n *node) keep(pod types.UID, is ofPod) {
	if n.pods == nil {
		n.pods = make(map[types.UID]ofPod)
	}
	n.pods[pod] = is
}

// status is how far the conditions of a silent node are.
type status uint8

const (
	upToDate status = iota // there is nothing to write
	toWrite                // they are to be written
	failing                // the last try failed: until one succeeds, the node takes no turn
)

// emptying is what is remembered of a node that is emptied instead of tainted.
type emptying struct {
	emptied bool                      // in this outage
	lapsed  bool                      // there may be pods at which nobody has looked since they could not be deleted
	begun   bool                      // in its turn a pod was deleted
	leaving map[cluster.PodRef]parted // pods that are being deleted
}

// parted is how far the deletion of a pod is.
type parted struct {
	tried trial
	no    *gate.Refused // what last held it back
	times int           // how often it was refused
	again time.Time     // until when that is believed, whatever else changes
	lost  bool          // some try may have deleted it
}

type trial uint8

const (
	untried trial = iota
	refused       // not now
	shut          // nothing may leave the domain now: the node needs another turn
	failed        // the node needs another turn or, if it may have been done, waits to try again
)

// standing says whether a node may be harmed and, if not, why.
type standing uint8

const (
	unjudged    standing = iota // there is no verdict yet: taints on it stay
	ready                       // by its verdict
	allDown                     // every zone is fully disrupted: the fault is likely elsewhere
	heldBack                    // by the program or an operator
	noCondition                 // it has lost its Ready condition, so nothing is known of it: taints on it stay
	settling                    // it has failed, and not for long enough, or was not watched for long enough: it keeps our taint
	reported                    // its kubelet has reported Ready since the verdict: the next verdict decides
	unanswered                  // its lease is being read, or cannot be read: nobody can say whether it is alive
	unwritable                  // its conditions cannot be written or, without taints, are not written yet
	served                      // it already carries our taint or is emptied, and has no turn
	harmable                    // it may be harmed
)

var standings = [...]string{"NotFailed", "NodeReady", "AllZonesDown", "Held", "NotFailed", "NotSettled", "NodeReady", "Unanswered", "Unwritable", "Tainted", ""}

// wanted says whether the verdict asks for harm. Evictions and taints then stand.
func (s standing) wanted() bool { return s >= reported }

// standing is the only place that decides it.
func (e *engine) standing(n *node) standing {
	switch {
	case n.verdict.Node == "":
		return unjudged
	case n.verdict.Ready == v1.ConditionTrue:
		return ready
	case e.zones.AllDown():
		return allDown
	case e.heldFor(n) != "":
		return heldBack
	case n.verdict.Ready == "":
		return noCondition
	case n.early:
		return settling
	case n.unread != nil:
		return unanswered
	case n.reported():
		return reported
	case n.status == failing, n.status == toWrite && !e.cfg.TaintBasedEviction:
		return unwritable
	case e.carries(n) && n.turn == nil:
		return served
	case !e.settled(n), !e.cfg.TaintBasedEviction && e.mu.Now.Before(e.emptyAt(n)):
		return settling
	}
	return harmable
}

// settled says whether the failure can be acted on: we have watched the silence for one whole grace period, or the node
// itself has told us.
func (e *engine) settled(n *node) bool {
	v, _ := e.monitor.Verdict(n.name)
	return !v.Settles.IsZero() && !e.mu.Now.Before(v.Settles)
}

func (e *engine) why(n *node) string {
	if s := e.standing(n); s != heldBack {
		return standings[s]
	}
	return e.heldFor(n)
}

func (e *engine) heldFor(n *node) string { return cmp.Or(e.holds[n.name], n.hold) }
func (n *node) judged() bool             { return n.verdict.Node != "" }
func (n *node) failed() bool             { return n.judged() && n.verdict.Ready != v1.ConditionTrue }

// carries says whether the node counts as acted on: tainted or emptied.
func (e *engine) carries(n *node) bool {
	return n.tainted || n.emptied || n.unshown != nil && n.unshown.certain
}

// reported says whether the kubelet has reported Ready since the verdict.
func (n *node) reported() bool {
	return n.says == v1.ConditionTrue && (!n.verdict.Expired || n.heard)
}

// unclear says whether the next verdict decides, so that no pod leaves before.
func (e *engine) unclear(n *node) bool {
	lost := n.says != n.verdict.Ready && (n.says == "" || n.says == v1.ConditionUnknown) && !n.verdict.Expired
	s := e.standing(n)
	return lost || s == reported || s == unanswered || n.belongs != n.domain
}

// untilPass is how long it takes until that is clearer.
func (e *engine) untilPass(n *node) time.Duration {
	at, _ := e.monitor.Next()
	if v, _ := e.monitor.Verdict(n.name); e.cfg.NodeMonitorPeriod == 0 && v.Settles.After(e.mu.Now) && (at.IsZero() || v.Settles.Before(at)) {
		at = v.Settles
	}
	if !at.After(e.mu.Now) {
		return e.cfg.GateInterval
	}
	return at.Sub(e.mu.Now)
}

// emptyAt is when a failed node may be emptied, without taints.
func (e *engine) emptyAt(n *node) time.Time {
	since := n.verdict.Since
	if v, ok := e.monitor.Verdict(n.name); ok && n.verdict.Ready == v1.ConditionUnknown {
		since = v.LastBeat
	}
	at := since.Add(e.cfg.PodEvictionTimeout)
	if e.cfg.NodeMonitorPeriod > 0 {
		at = at.Add(1)
	}
	return at
}

// errAsked is why the lease of a node is not known while it is being read.
var errAsked = errors.New("its lease is being read")

// unknown notes why the lease of a node is not known, nil if it is.
func (e *engine) unknown(n *node, why error) {
	if n.unread = why; why == nil {
		delete(e.unread, n.name)
	} else {
		e.unread[n.name] = n
	}
}
