package nodelifecycle

import (
	"context"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// NodeWriter writes nodes. The UID of the node must be a precondition. NotFound counts as done; after a Conflict the node
// is read again; any other error is retried with backoff for as long as the decision holds.
type NodeWriter interface {
	UpdateConditions(ctx context.Context, node *v1.Node, conditions []v1.NodeCondition) error
	// UpdateTaints applies the change in one write; taints.Change.Patch builds its body.
	UpdateTaints(ctx context.Context, node *v1.Node, change taints.Change) error
	UpdateLabels(ctx context.Context, node *v1.Node, labels map[string]string) error
}

// PodWriter writes pods. The UID of the reference must be a precondition. A *gate.Refused or TooManyRequests means not now.
type PodWriter interface {
	// MarkNotReady sets the pod's Ready condition to False.
	MarkNotReady(ctx context.Context, pod cluster.PodRef) error
	// With TaintBasedEviction a node lifecycle Controller does not call Evict. The other half of an evictor.Evictor does.
	cluster.Evicter
}

// Clients are how the controller sees and changes the cluster. Source may be nil; then the program feeds the controller.
type Clients struct {
	Nodes      cluster.NodeStore
	Pods       cluster.PodStore
	NodeWriter NodeWriter
	PodWriter  PodWriter
	Source     cluster.Source
}

// Options are settings that the program chooses, not the operator. The zero Options are valid. Policy, Domain, Excluded,
// Hold and Jitter are called with locks held: they must be fast, and must neither call the controller nor wait for who does.
type Options struct {
	Clock    clock.PassiveClock // the real one if nil; Run needs a clock.Clock
	Observer func(Decision)     // receives every decision, in order and with nothing locked; it must not block
	Gate     gate.Gate
	// Policy replaces the zone policy that Config describes.
	Policy zone.Policy
	// Domain returns the failure domain in which a node counts and waits; zone.KeyOf of its labels if nil.
	Domain func(node *v1.Node) zone.Key
	// Excluded says that a node does not count in its domain; zone.Excluded of its labels if nil.
	Excluded func(node *v1.Node) bool
	// Hold says that a node must not be tainted or emptied, and why. See also Controller.Hold.
	Hold func(node *v1.Node) (reason string, held bool)
	// Prefer chooses which of the nodes that wait in a zone has the next turn.
	Prefer func(domain zone.Key, waiting []string) (node string)
	// Jitter spreads the backoff of failed writes.
	Jitter func(time.Duration) time.Duration
	// OnPanic is told of panics of the user's code.
	OnPanic func(key, value any, stack []byte)
}

func (o Options) withDefaults() Options {
	if o.Domain == nil {
		o.Domain = func(node *v1.Node) zone.Key { return zone.KeyOf(node.Labels) }
	}
	if o.Excluded == nil {
		o.Excluded = func(node *v1.Node) bool { return zone.Excluded(node.Labels) }
	}
	return o
}

// Config holds what an operator may tune. The names follow kube-controller-manager's flags. Start from DefaultConfig.
type Config struct {
	// NodeMonitorPeriod is the time between two monitor passes. 0 is exact: a heartbeat counts on arrival, and a verdict
	// comes at its deadline.
	NodeMonitorPeriod time.Duration
	// NodeMonitorGracePeriod is how long a node that has reported may stay silent before its verdict is Unknown, and
	// NodeStartupGracePeriod the same for one that has never reported.
	NodeMonitorGracePeriod, NodeStartupGracePeriod time.Duration
	// MaxGap is how much of the time between two calls counts as silence at most; 0 means a quarter of the grace period. With
	// a period, it is at least 1.2 periods. A test that steps a fake clock by an hour sets it to an hour.
	MaxGap time.Duration

	// NodeEvictionRate is how many nodes a second have their turn in a healthy zone, and SecondaryNodeEvictionRate in a
	// partially disrupted one of more than LargeClusterSizeThreshold nodes; a smaller one stops.
	NodeEvictionRate, SecondaryNodeEvictionRate float64
	LargeClusterSizeThreshold                   int
	// UnhealthyZoneThreshold, in (0,1], is the share of nodes not ready that makes a zone partially disrupted.
	UnhealthyZoneThreshold float64
	// MaxNodesPerSecond caps the rate of all zones together; 0 means no cap.
	MaxNodesPerSecond float64

	// TaintBasedEviction chooses what a turn does: taint the node NoExecute, or delete its pods. False in this controller
	// alone is kube-controller-manager's --enable-taint-manager=false (until 1.26): NoExecute taints evict nobody. False in
	// both halves is v1.16 without its feature gate TaintBasedEvictions: those of others evict.
	TaintBasedEviction bool
	// PodEvictionTimeout counts only without TaintBasedEviction: a node joins the queue this long after its last heartbeat,
	// or after the pass that found it not ready by its own report.
	PodEvictionTimeout time.Duration

	// NodeWorkers bounds the writes that Run has in flight.
	NodeWorkers int
	// RetryInitial and RetryMax bound the backoff of failed writes; GateInterval is how long a refusal is believed.
	RetryInitial, RetryMax, GateInterval time.Duration
}

// DefaultConfig returns upstream's defaults, and ours for what upstream does not have.
func DefaultConfig() Config {
	return Config{
		NodeMonitorPeriod: 5 * time.Second, NodeMonitorGracePeriod: 50 * time.Second, NodeStartupGracePeriod: 60 * time.Second,
		NodeEvictionRate: 0.1, SecondaryNodeEvictionRate: 0.01, LargeClusterSizeThreshold: 50, UnhealthyZoneThreshold: 0.55,
		TaintBasedEviction: true, PodEvictionTimeout: 5 * time.Minute,
		NodeWorkers: 32, RetryInitial: 100 * time.Millisecond, RetryMax: time.Minute, GateInterval: time.Second,
	}
}

// Validate reports every fault at once, as an aggregate of field errors, or nil.
func (c Config) Validate() error { return c.faults().ToAggregate() }

func (c Config) faults() (errs field.ErrorList) {
	check := func(ok bool, name string, value any, why string) {
		if d, is := value.(time.Duration); is {
			value = d.String()
		}
		if !ok {
			errs = append(errs, field.Invalid(field.NewPath(name), value, why))
		}
	}
	rate := func(name string, r float64) {
		check(r >= 0 && !math.IsInf(r, 0), name, r, "must be a finite number of at least 0")
	}
	const positive, natural = "must be greater than 0", "must not be negative"
	period, grace, startup := c.NodeMonitorPeriod, c.NodeMonitorGracePeriod, c.NodeStartupGracePeriod
	check(period >= 0, "nodeMonitorPeriod", period, "must not be negative; 0 is exact")
	check(grace > 0, "nodeMonitorGracePeriod", grace, positive)
	check(startup > 0, "nodeStartupGracePeriod", startup, positive)
	check(period <= 0 || grace <= 0 || grace > period, "nodeMonitorGracePeriod", grace, "must exceed nodeMonitorPeriod")
	check(period <= 0 || startup <= 0 || startup > period, "nodeStartupGracePeriod", startup, "must exceed nodeMonitorPeriod")
	check(c.MaxGap >= 0, "maxGap", c.MaxGap, natural)
	rate("nodeEvictionRate", c.NodeEvictionRate)
	rate("secondaryNodeEvictionRate", c.SecondaryNodeEvictionRate)
	rate("maxNodesPerSecond", c.MaxNodesPerSecond)
	check(c.LargeClusterSizeThreshold >= 0, "largeClusterSizeThreshold", c.LargeClusterSizeThreshold, natural)
	check(c.UnhealthyZoneThreshold > 0 && c.UnhealthyZoneThreshold <= 1, "unhealthyZoneThreshold", c.UnhealthyZoneThreshold, "must lie in (0,1]")
	check(c.PodEvictionTimeout > 0 || c.TaintBasedEviction && c.PodEvictionTimeout == 0, "podEvictionTimeout", c.PodEvictionTimeout, positive)
	check(c.NodeWorkers > 0, "nodeWorkers", c.NodeWorkers, positive)
	check(c.RetryInitial > 0, "retryInitial", c.RetryInitial, positive)
	check(c.GateInterval > 0, "gateInterval", c.GateInterval, positive)
	check(c.RetryMax >= c.RetryInitial, "retryMax", c.RetryMax, "must not be less than retryInitial")
	return errs
}
