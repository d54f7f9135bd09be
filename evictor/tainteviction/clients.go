package tainteviction

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/zone"
)

// Verdicts knows about nodes what their objects do not say. It is the only question of this package to whoever taints
// nodes not-ready and unreachable. Nil Verdicts trust these taints as they are. It is asked with a lock held.
type Verdicts interface {
	// Own says whether evictions by these two taints are wanted on a node now.
	Own(node string) cluster.Own
	// Overdue says that pods of the node fell due by them while harm was refused: they must leave node by node.
	Overdue(node string)
}

// Clients are how the controller sees and changes the cluster. Source and Verdicts may be nil.
type Clients struct {
	Nodes    cluster.NodeStore
	Pods     cluster.PodStore
	Evicter  cluster.Evicter
	Source   cluster.Source
	Verdicts Verdicts
}

// Options are settings that the program chooses. The zero Options are valid.
type Options struct {
	Clock    clock.PassiveClock
	Observer func(Decision) // receives every decision, in order and with nothing locked; it must not block
	Gate     gate.Gate
	// Domain returns a node's failure domain without Verdicts; zone.KeyOf of its labels if nil. Called with a lock held.
	Domain func(node *v1.Node) zone.Key
	// Jitter spreads the backoff of what failed and was refused. Called with a lock held.
	Jitter  func(time.Duration) time.Duration
	OnPanic func(key, value any, stack []byte)
}
