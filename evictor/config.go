package evictor

import (
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/internal/pods"
	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// Config holds what an operator may tune. The names are those of kube-controller-manager's flags.
// Start from DefaultConfig and change what differs: the zero Config is not valid, because an unset
// grace period or threshold has no safe meaning. A Config is plain data and may be copied freely.
type Config struct {
	// NodeMonitorPeriod is the time between two monitor passes. Heartbeats are noted at the pass that
	// follows them and verdicts fall at passes, as upstream does. 0 is exact: heartbeats are noted on
	// arrival and a verdict falls at its deadline.
	NodeMonitorPeriod time.Duration
	// NodeMonitorGracePeriod is how long a node that has reported may stay silent before it is
	// declared Unknown. The default of 50s exceeds the 45s that a dead HTTP/2 connection of a kubelet
	// may need to be noticed (ping after 15s, idle 30s); upstream had 40s before 1.32.
	NodeMonitorGracePeriod time.Duration
	// NodeStartupGracePeriod is the same for a node that has never reported, counted from its creation.
	NodeStartupGracePeriod time.Duration

	// Half leaves out one of the two halves; the zero value is both.
	Half Half

	// NodeEvictionRate is how many nodes a second and zone are tainted (or emptied) while the zone is
	// healthy, and while it is fully disrupted though another zone is not. 0 stops new ones.
	NodeEvictionRate float64
	// SecondaryNodeEvictionRate replaces it in a partially disrupted zone of more than
	// LargeClusterSizeThreshold nodes; smaller ones stop.
	SecondaryNodeEvictionRate float64
	// LargeClusterSizeThreshold is in nodes of one zone, in spite of its name.
	LargeClusterSizeThreshold int
	// UnhealthyZoneThreshold in (0,1] is the share of not ready nodes that makes a zone partially
	// disrupted, when at least three are not ready.
	UnhealthyZoneThreshold float64

	// TaintBasedEviction true taints failed nodes NoExecute and lets pods leave as their tolerations
	// end; false deletes the pods of a failed node after PodEvictionTimeout, at the zone's rate, as
	// v1.16 did without taints. Taints of other people act in both.
	TaintBasedEviction bool
	// PodEvictionTimeout is used only without TaintBasedEviction.
	PodEvictionTimeout time.Duration
	// NumericTolerations switches the operators Lt and Gt on.
	NumericTolerations bool

	// MaxNodesPerSecond caps all zones together; 0 means no cap.
	MaxNodesPerSecond float64
	// MaxFailedNodes is how many nodes may carry our NoExecute taints at once (or, without taints, be
	// emptied and not yet back); 0 means no cap.
	MaxFailedNodes int

	// NodeWorkers, LiftWorkers and PodWorkers bound the writes that Run has in flight: node writes and the
	// marking of their pods, lifting of taints (its own workers, so that hanging writes cannot hold recovery
	// back) and evictions. Evictions that the API server has refused have an eighth of PodWorkers, at least one, of their own.
	// Step ignores them. The client's own rate limit is what protects the API server; few
	// workers only let nodes and pods wait for each other when it is slow.
	NodeWorkers, LiftWorkers, PodWorkers int
	// RetryInitial and RetryMax bound the exponential backoff of failed writes.
	RetryInitial, RetryMax time.Duration
	// GateInterval is how long a closed permission (Options.MayWrite, MayHarm, MayHarmIn) is left alone
	// before it is asked again; Kick asks at once.
	GateInterval time.Duration
	// ExplainSize is how many decisions Explain remembers, for the whole evictor, at most 1048576. Each takes about
	// half a KiB.
	ExplainSize int
}

// Half is what of an evictor runs: its two halves can be had apart, as kube-controller-manager has them since 1.29. What does not run
// decides, tells and counts nothing.
type Half uint8

// The halves.
const (
	// Both is the whole evictor.
	Both Half = iota
	// Lifecycle is the half that watches nodes: verdicts, zones, conditions, taints, and the pods that are marked not Ready or, without
	// TaintBasedEviction, deleted. It evicts nothing because of taints: somebody else does.
	Lifecycle
	// TaintEviction is the half that evicts pods from nodes with NoExecute taints. It writes no node and gives no verdict: the taints
	// not-ready and unreachable are somebody else's then, like all others, and trusted as they stand. They wait for no zone's rate and
	// for no grace after a start; permissions and pauses stop what they evict.
	TaintEviction
)

// tainting says whether taints of ours can be about.
func (c Config) tainting() bool { return c.TaintBasedEviction && c.Half != TaintEviction }

// evicts says what evicts pods.
func (c Config) evicts() pods.Half {
	switch {
	case c.Half == TaintEviction || c.Half == Both && c.TaintBasedEviction:
		return pods.ByTaints
	case c.Half == Both:
		return pods.ByEmptying
	case !c.TaintBasedEviction:
		return pods.Alone
	}
	return pods.Nothing
}

// empties says whether failed nodes are emptied, and not tainted.
func (c Config) empties() bool { return !c.TaintBasedEviction && c.Half != TaintEviction }

// own says whether a taint is one of those that evict because of our verdict.
func (c Config) own(t *v1.Taint) bool { return c.tainting() && taints.OwnNoExecute(t) }

// maxExplainSize bounds ExplainSize: more would be a mistake, and half a GiB.
const maxExplainSize = 1 << 20

// DefaultConfig returns upstream's defaults, see the fields.
func DefaultConfig() Config {
	return Config{
		NodeMonitorPeriod:         5 * time.Second,
		NodeMonitorGracePeriod:    50 * time.Second,
		NodeStartupGracePeriod:    60 * time.Second,
		NodeEvictionRate:          0.1,
		SecondaryNodeEvictionRate: 0.01,
		LargeClusterSizeThreshold: 50,
		UnhealthyZoneThreshold:    0.55,
		TaintBasedEviction:        true,
		PodEvictionTimeout:        5 * time.Minute,
		NodeWorkers:               32,
		LiftWorkers:               2,
		PodWorkers:                32,
		RetryInitial:              100 * time.Millisecond,
		RetryMax:                  time.Minute,
		GateInterval:              time.Second,
		ExplainSize:               4096,
	}
}

// Validate reports every fault at once, as an aggregate of field errors, or nil.
func (c Config) Validate() error {
	const positive, natural = "must be greater than 0", "must not be negative"
	var errs field.ErrorList
	check := func(ok bool, name string, value any, why string) {
		if d, is := value.(time.Duration); is {
			value = d.String()
		}
		if !ok {
			errs = append(errs, field.Invalid(field.NewPath(name), value, why))
		}
	}
	period, grace, startup := c.NodeMonitorPeriod, c.NodeMonitorGracePeriod, c.NodeStartupGracePeriod
	check(period >= 0, "nodeMonitorPeriod", period, "must not be negative; 0 is exact")
	check(c.Half <= TaintEviction, "half", c.Half, "must be Both, Lifecycle or TaintEviction")
	check(grace > 0, "nodeMonitorGracePeriod", grace, positive)
	check(startup > 0, "nodeStartupGracePeriod", startup, positive)
	check(period <= 0 || grace <= 0 || grace > period, "nodeMonitorGracePeriod", grace, "must exceed nodeMonitorPeriod")
	check(period <= 0 || startup <= 0 || startup > period, "nodeStartupGracePeriod", startup, "must exceed nodeMonitorPeriod")
	rate := func(name string, r float64) {
		check(r >= 0 && !math.IsInf(r, 0), name, r, "must be a finite number of at least 0")
	}
	rate("nodeEvictionRate", c.NodeEvictionRate)
	rate("secondaryNodeEvictionRate", c.SecondaryNodeEvictionRate)
	rate("maxNodesPerSecond", c.MaxNodesPerSecond)
	check(c.LargeClusterSizeThreshold >= 0, "largeClusterSizeThreshold", c.LargeClusterSizeThreshold, natural)
	check(c.UnhealthyZoneThreshold > 0 && c.UnhealthyZoneThreshold <= 1, "unhealthyZoneThreshold", c.UnhealthyZoneThreshold, "must lie in (0,1]")
	check(c.PodEvictionTimeout > 0 || c.TaintBasedEviction && c.PodEvictionTimeout == 0, "podEvictionTimeout", c.PodEvictionTimeout, positive)
	check(c.MaxFailedNodes >= 0, "maxFailedNodes", c.MaxFailedNodes, natural)
	check(c.NodeWorkers > 0, "nodeWorkers", c.NodeWorkers, positive)
	check(c.LiftWorkers > 0, "liftWorkers", c.LiftWorkers, positive)
	check(c.PodWorkers > 0, "podWorkers", c.PodWorkers, positive)
	check(c.RetryInitial > 0, "retryInitial", c.RetryInitial, positive)
	check(c.GateInterval > 0, "gateInterval", c.GateInterval, positive)
	check(c.RetryMax >= c.RetryInitial, "retryMax", c.RetryMax, "must not be less than retryInitial")
	check(c.ExplainSize >= 0 && c.ExplainSize <= maxExplainSize, "explainSize", c.ExplainSize, fmt.Sprintf("must lie between 0 and %d", maxExplainSize))
	return errs.ToAggregate()
}

// policy is the zone policy that the configuration describes.
func (c Config) policy() zone.Policy {
	return zone.DisruptionPolicy{
		EvictionRate:          c.NodeEvictionRate,
		SecondaryEvictionRate: c.SecondaryNodeEvictionRate,
		LargeZoneThreshold:    c.LargeClusterSizeThreshold,
		UnhealthyThreshold:    c.UnhealthyZoneThreshold,
	}
}

func (c Config) health(clock clock.PassiveClock) health.Config {
	return health.Config{
		Clock:                  clock,
		NodeMonitorPeriod:      c.NodeMonitorPeriod,
		NodeMonitorGracePeriod: c.NodeMonitorGracePeriod,
		NodeStartupGracePeriod: c.NodeStartupGracePeriod,
	}
}
