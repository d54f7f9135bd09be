package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// ErrPaused is what the errors of a Pause wrap.
var ErrPaused = errors.New("paused")

// Leader refuses writes while leads returns an error. As every act needs a write, nothing is done meanwhile. A nil function
// refuses.
func Leader(leads func() error) Gate {
	if leads == nil {
		leads = func() error { return errors.New("gate.Leader has no function") }
	}
	return refuses(Write, "NotLeading", func(zone.Key) error { return leads() })
}

// Breaker refuses harm while trips returns an error. A nil function refuses.
func Breaker(trips func(domain zone.Key) error) Gate {
	if trips == nil {
		trips = func(zone.Key) error { return errors.New("gate.Breaker has no function") }
	}
	return refuses(Harm, "Breaker", trips)
}

// refuses returns a Gate that refuses one sort of act while there is a why not.
func refuses(do Do, reason string, why func(domain zone.Key) error) Gate {
	return Func(func(_ context.Context, act Act) error {
		if act.Do != do {
			return nil
		}
		if err := why(act.Domain); err != nil {
			return &Refused{Reason: reason, Err: err}
		}
		return nil
	})
}

// Pause refuses harm for as long as there is a reason. The zero Pause permits. Most callers want [Pause.Pause] first, and
// [Pause.Resume].
type Pause struct {
	// Changed, if not nil, is called after each change; an Evictor's Kick is meant.
	Changed func()

	mu      sync.Mutex
	reasons []string // oldest first
}

// Pause adds a reason.
func (p *Pause) Pause(reason string) {
	p.change(func() {
		if !slices.Contains(p.reasons, reason) {
			p.reasons = append(p.reasons, reason)
		}
	})
}

// Resume removes a reason. It returns false if there was none.
func (p *Pause) Resume(reason string) (was bool) {
	p.change(func() {
		before := len(p.reasons)
		p.reasons = slices.DeleteFunc(p.reasons, func(r string) bool { return r == reason })
		was = len(p.reasons) < before
	})
	return was
}

// Paused returns the reasons in force, oldest first.
func (p *Pause) Paused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reasons)
}

func (p *Pause) change(change func()) {
	p.mu.Lock()
	change()
	p.mu.Unlock()
	if p.Changed != nil {
		p.Changed()
	}
}

// May refuses harm.
func (p *Pause) May(_ context.Context, act Act) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if act.Do != Harm || len(p.reasons) == 0 {
		return nil
	}
	return &Refused{Reason: "Paused", Err: fmt.Errorf("%w: %s", ErrPaused, p.reasons[0])}
}
