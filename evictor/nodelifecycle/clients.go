package nodelifecycle

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
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
	// Evicter is not called with TaintBasedEviction.
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
// Hold and Prefer are called with locks held: they must be fast, and must not call the controller.
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
