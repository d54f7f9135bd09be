//go:build !thin

package evictor

import (
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/health"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// Config holds what an operator may tune. The names follow kube-controller-manager's flags. Start from DefaultConfig
// and change what differs: the zero Config is invalid, because an unset grace period or threshold has no safe meaning.
// A Config is plain data and may be copied freely.
type Config struct {
	// NodeMonitorPeriod is the time between two monitor passes. As upstream, a heartbeat counts from the pass that follows
	// it, and verdicts come only at passes. 0 is exact mode: a heartbeat counts on arrival, and a verdict comes at its
	// deadline, as in Cluster API's health checks.
	NodeMonitorPeriod time.Duration
	// NodeMonitorGracePeriod is how long a node that has reported may stay silent before its verdict is Unknown. The
	// default of 50s exceeds the 45s that a kubelet may need to notice a dead HTTP/2 connection (30s idle, 15s for the
	// ping); upstream had 40s before 1.32.
	NodeMonitorGracePeriod time.Duration
	// NodeStartupGracePeriod is the same for a node that has never reported, counted from its creation or, if the node is
	// older than the evictor, from the evictor's start.
	NodeStartupGracePeriod time.Duration

	// Half selects one of the evictor's two halves, or both, which is the zero value.
	Half Half

	// NodeEvictionRate is how many nodes a second are tainted (or emptied) in each zone while the zone is healthy, and
	// while it is fully disrupted but some other zone is not. 0 stops new taints; existing ones stay.
	NodeEvictionRate float64
	// SecondaryNodeEvictionRate replaces it in a partially disrupted zone of more than LargeClusterSizeThreshold nodes. A
	// smaller zone stops: its rate is 0.
	SecondaryNodeEvictionRate float64
	// LargeClusterSizeThreshold counts the nodes of one zone, in spite of its name.
	LargeClusterSizeThreshold int
	// UnhealthyZoneThreshold, in (0,1], is the share of nodes not ready that makes a zone partially disrupted, if at
	// least three are not ready.
	UnhealthyZoneThreshold float64

	// MaxMarkedNodes limits how many silent nodes of a partially disrupted zone may have their pods marked not Ready at
	// once, so that a cluster which loses the network of half a zone keeps endpoints that may still work
	// (kubernetes#77864, #125618). The pods of the others wait until the zone is no longer partially disrupted, or has
	// been for MarkAllAfter (0: until it is no longer). MarkAllAfter needs MaxMarkedNodes. 0 means no limit, as
	// upstream.
	MaxMarkedNodes int
	MarkAllAfter   time.Duration

	// TaintBasedEviction chooses how a failed node loses its pods. If true, the node is tainted NoExecute, and pods
	// leave as their tolerations end. If false, its pods are deleted after PodEvictionTimeout, at the zone's rate, as
	// v1.16 did without taints and Katalyst still does. NoExecute taints that others set evict pods in both cases.
	TaintBasedEviction bool
	// PodEvictionTimeout counts only without TaintBasedEviction: a node joins the queue to be emptied this long after its
	// last heartbeat was seen, or after the pass that found it not ready by its own report.
	PodEvictionTimeout time.Duration
	// NumericTolerations enables the toleration operators Lt and Gt, as Karpenter does.
	NumericTolerations bool

	// MaxNodesPerSecond caps the rate of all zones together, as Karmada has one rate for all clusters; 0 means no cap.
	MaxNodesPerSecond float64
	// MaxFailedNodes caps how many nodes may carry our NoExecute taints at once or, without taints, have been emptied
	// and not recovered, as maxUnhealthy does in Cluster API and Medik8s; 0 means no cap.
	MaxFailedNodes int

	// FalseAlarmWithin is for the trials of Options.Budget (budget.Unproven): a node that is ready again this soon after
	// its first pod left was a false alarm, and fails the trial. 0 means NodeMonitorGracePeriod.
	FalseAlarmWithin time.Duration

	// MaxAnnounced is how long the evictor spares a node whose conditions announce maintenance, as KEP-5683 defines them
	// since Kubernetes 1.37: MaintenancePlanned, MaintenanceInProgress, DrainInProgress, Drained or
	// GracefulNodeShutdownInProgress is True. For that long after it first saw one of them, or until none is left, the
	// evictor counts the node in its domain neither as ready nor as not ready, does not taint it NoExecute, lifts such a
	// taint of ours, and does not empty it. It still writes the conditions and NoSchedule taints of a silent node, and
	// marks its pods. A condition names no end, hence this limit; a restart begins it anew. 0 means that the evictor
	// ignores announcements, as upstream does.
	MaxAnnounced time.Duration

	// NodeWorkers and PodWorkers bound the writes that Run has in flight. NodeWorkers write nodes and mark their pods; as
	// many others ask Clients.Confirmer about silent nodes, and two more lift taints, so that hanging writes cannot delay
	// recovery. PodWorkers evict. Evictions that the API server has refused get workers of their own: an eighth of
	// PodWorkers, at least one. Step ignores both. The client's own rate limit protects the API server; too few workers
	// only make nodes and pods wait for each other when the API server is slow.
	NodeWorkers, PodWorkers int
	// RetryInitial and RetryMax bound the exponential backoff of failed writes.
	RetryInitial, RetryMax time.Duration
	// GateInterval is how long the evictor waits before it asks again about something that may change without an event: a
	// closed permission (Options.MayWrite, MayHarm, MayHarmIn; Kick asks at once), a Budget that refuses a turn or exceeds
	// a bound, and a store that is not complete or does not show a node as it was last seen. It is also the first delay
	// after an eviction that the API server refuses for now without naming a time; these delays grow up to RetryMax.
	GateInterval time.Duration
	// ExplainSize is how many decisions Explain remembers for the whole evictor, from 0 to 1048576. Each takes about half
	// a KiB.
	ExplainSize int
}

// Half says which half of an evictor runs: [Both], [Lifecycle] or [TaintEviction]. The two can run apart, as in
// kube-controller-manager since 1.29 (KEP-3902), for those who replace only one of them. A half that does not run
// decides, reports and counts nothing.
type Half uint8

// The halves.
const (
	// Both is the whole evictor.
	Both Half = iota
	// Lifecycle is the half that watches nodes: verdicts, zones, conditions and taints. It marks the pods of silent
	// nodes not Ready and, without TaintBasedEviction, deletes those of failed nodes. It evicts no pod because of a taint;
	// somebody else does that.
	Lifecycle
	// TaintEviction is the half that evicts pods from nodes with NoExecute taints. It writes no nodes and reaches no
	// verdicts. It trusts the taints not-ready and unreachable as it finds them, because somebody else sets them:
	// evictions because of them wait neither for a zone's rate nor for a grace period after a start. Permissions and
	// pauses stop them.
	TaintEviction
)

// tainting says whether our own taints can exist.
func (c Config) tainting() bool { return c.TaintBasedEviction && c.Half != TaintEviction }

// empties says whether failed nodes are emptied instead of tainted.
func (c Config) empties() bool { return !c.TaintBasedEviction && c.Half != TaintEviction }

// own says whether the taint is one that we set because of a verdict.
func (c Config) own(t *v1.Taint) bool { return c.tainting() && taints.OwnNoExecute(t) }

// maxExplainSize bounds ExplainSize: so many decisions take about half a GiB, and more would be a mistake.
const maxExplainSize = 1 << 20

// DefaultConfig returns upstream's defaults, and ours for what upstream does not have.
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
		PodWorkers:                32,
		RetryInitial:              100 * time.Millisecond,
		RetryMax:                  time.Minute,
		GateInterval:              time.Second,
		ExplainSize:               4096,
	}
}

// Validate reports every fault at once, as an aggregate of field errors, or nil.
func (c Config) Validate() error { return c.faults().ToAggregate() }

func (c Config) faults() (errs field.ErrorList) {
	const positive, natural = "must be greater than 0", "must not be negative"
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
	check(c.MaxMarkedNodes >= 0, "maxMarkedNodes", c.MaxMarkedNodes, natural)
	check(c.MarkAllAfter >= 0, "markAllAfter", c.MarkAllAfter, natural)
	check(c.MarkAllAfter <= 0 || c.MaxMarkedNodes != 0, "markAllAfter", c.MarkAllAfter, "has no effect without maxMarkedNodes")
	check(c.MaxFailedNodes >= 0, "maxFailedNodes", c.MaxFailedNodes, natural)
	check(c.FalseAlarmWithin >= 0, "falseAlarmWithin", c.FalseAlarmWithin, natural)
	check(c.MaxAnnounced >= 0, "maxAnnounced", c.MaxAnnounced, "must not be negative; 0 ignores announcements")
	check(c.NodeWorkers > 0, "nodeWorkers", c.NodeWorkers, positive)
	check(c.PodWorkers > 0, "podWorkers", c.PodWorkers, positive)
	check(c.RetryInitial > 0, "retryInitial", c.RetryInitial, positive)
	check(c.GateInterval > 0, "gateInterval", c.GateInterval, positive)
	check(c.RetryMax >= c.RetryInitial, "retryMax", c.RetryMax, "must not be less than retryInitial")
	check(c.ExplainSize >= 0 && c.ExplainSize <= maxExplainSize, "explainSize", c.ExplainSize, fmt.Sprintf("must lie between 0 and %d", maxExplainSize))
	return errs
}

// policy is the zone policy that the configuration describes.
func (c Config) policy() zone.Policy {
	return zone.DisruptionPolicy{
		EvictionRate:          c.NodeEvictionRate,
		SecondaryEvictionRate: c.SecondaryNodeEvictionRate,
		LargeZoneThreshold:    c.LargeClusterSizeThreshold,
		UnhealthyThreshold:    c.UnhealthyZoneThreshold,
		MaxMarked:             c.MaxMarkedNodes,
		MarkAllAfter:          c.MarkAllAfter,
	}
}

func (c Config) health(clock clock.PassiveClock, confirm bool) health.Config {
	return health.Config{
		Clock:                  clock,
		Confirm:                confirm,
		NodeMonitorPeriod:      c.NodeMonitorPeriod,
		NodeMonitorGracePeriod: c.NodeMonitorGracePeriod,
		NodeStartupGracePeriod: c.NodeStartupGracePeriod,
	}
}
