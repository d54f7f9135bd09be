package clientgo

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// Half says which controllers a Cluster feeds, and so what it watches and which permissions it needs: [Both],
// [Lifecycle] or [TaintEviction].
type Half uint8

// The halves.
const (
	// Both serves every controller.
	Both Half = iota
	// Lifecycle serves a nodelifecycle.Controller with TaintBasedEviction. It needs no permission to evict.
	Lifecycle
	// TaintEviction serves a tainteviction.Controller. It watches no leases, and needs no permission for leases or to
	// patch nodes. Without leases the guard notices watches that are broken, but not watches that stand still.
	TaintEviction
)

var halfNames = [...]string{Both: "Both", Lifecycle: "Lifecycle", TaintEviction: "TaintEviction"}

// String returns the name of the constant.
func (h Half) String() string {
	if int(h) < len(halfNames) {
		return halfNames[h]
	}
	return "no half"
}

// lifecycle says whether nodes are watched for their heartbeats, and written.
func (o Options) lifecycle() bool { return o.Half != TaintEviction }

// serves returns an error if a target needs more than Half provides.
func (o Options) serves(to evictor.Target) error {
	enough := true
	switch to.(type) {
	case *evictor.Evictor:
		enough = o.Half == Both
	case *nodelifecycle.Controller:
		enough = o.Half != TaintEviction
	case *tainteviction.Controller:
		enough = o.Half != Lifecycle
	}
	if enough {
		return nil
	}
	return field.Invalid(field.NewPath("half"), o.Half.String(), "is not enough for this controller")
}
