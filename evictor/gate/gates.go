package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/evictkit/evictkit/zone"
)

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
