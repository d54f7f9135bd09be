package gate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// Gate answers nil, or why not; a *Refused says until when, too.
type Gate interface {
	May(ctx context.Context, act Act) error
}

// Act is what is about to be done.
type Act struct {
	Do     Do
	Node   string          // Turn, Evict
	Domain zone.Key        // Harm, Turn, Evict
	Pod    *v1.Pod         // Evict; do not change it
	Why    taints.Deadline // Evict: the taint, the toleration and the deadline; no taint if a failed node is emptied
}

// Do says what sort of act it is: [Write], [Harm], [Turn] or [Evict].
type Do string

// The acts. An eviction asks for Harm, Write and Evict; a new NoExecute taint of ours for Harm and Write; everything else only
// for Write.
const (
	// Write is a write of any kind. What falls due while it is refused leaves as with Harm. A refusal counts for everybody until
	// the time that it names, or for Config.GateInterval.
	Write Do = "Write"
	// Harm is what moves pods of the domain: a NoExecute taint of ours, the emptying of a node, an eviction. While it is refused
	// no turns are given there and no tokens accrue, and what falls due meanwhile leaves node by node afterwards, at the domain's
	// rate. A refusal counts as with Write.
	Harm Do = "Harm"
	// Turn is the turn of one failed node. A refusal costs no token, and the next node in line is asked about.
	Turn Do = "Turn"
	// Evict is the eviction of one pod. A refusal holds up neither the node's turn nor its other pods.
	Evict Do = "Evict"
)

// Func is a function that is a Gate.
type Func func(ctx context.Context, act Act) error

// May calls the function.
func (f Func) May(ctx context.Context, act Act) error { return f(ctx, act) }

// All asks each Gate in order until one refuses. It leaves out nil Gates. One that holds only a type, such as a nil *Pause,
// refuses everything.
func All(gates ...Gate) Gate {
	return Func(func(ctx context.Context, act Act) error {
		for i, g := range gates {
			if g == nil {
				continue
			}
			if absent.Value(g) {
				return fmt.Errorf("gate.All: gate %d is a nil %T: leave it out", i, g)
			}
			if err := g.May(ctx, act); err != nil {
				return err
			}
		}
		return nil
	})
}

// Refused is the one "not now": of a Gate, or of a writer that does nothing yet. It is no failure.
// No Gate is asked about the same act before Again, unless Kick is called or the observer recovers; nor is a writer of
// evictions. Other writers are tried again after the backoff of failures.
type Refused struct {
	Reason string    // a short stable text
	Again  time.Time // when to ask again, by the evictor's clock; zero for when the asker thinks best
	Err    error     // what is behind it, or nil
	// Pace says of an eviction by one of our own taints that the pod leaves later with its node, at its zone's rate.
	Pace bool
}

// Error returns the reason and what is behind it.
func (r *Refused) Error() string {
	switch {
	case r == nil:
		return "a nil *gate.Refused is an error all the same: return nil itself to permit the act"
	case r.Err == nil:
		return cmp.Or(r.Reason, "refused")
	}
	return r.Err.Error()
}

// Unwrap returns what is behind it.
func (r *Refused) Unwrap() error {
	if r == nil {
		return nil
	}
	return r.Err
}
