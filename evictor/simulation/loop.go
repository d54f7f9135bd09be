package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"
)

const never = time.Duration(math.MaxInt64)

// maxLaps limits how often pods may come back and be evicted at one instant.
const maxLaps = 1000

// run goes from instant to instant. Renewals in between only tell the evictor of a sign of life, so they need no step.
func (p *player) run(ctx context.Context) error {
	until, told := p.scenario.Until, time.Duration(-1)
	for next := time.Duration(0); ; {
		at := p.advance(next)
		for i := range p.ongoing {
			if err := p.ongoing[i].turn(ctx, at); err != nil {
				return err
			}
		}
		if p.scenario.Progress != nil && at-told > until/1000 {
			told = at
			p.scenario.Progress(at)
		}
		if err := cmp.Or(p.lineErr, ctx.Err()); err != nil {
			return err
		}
		next = max(at, p.nextInstant()) // it is now if the evictor has more to do
		if next <= until {
			continue
		}
		if next = p.advance(until); next == until && p.nextInstant() > until {
			p.renewals(until)
			return ctx.Err()
		}
	}
}

// advance lets time pass until the next instant, and kubelets renew before it. If a Clock of the scenario stops, because a
// controller with timers of its own has written, that is the next instant.
func (p *player) advance(next time.Duration) time.Duration {
	c := p.cluster
	for {
		at := min(next, c.NextRenewal())
		c.Clock.Set(at)
		now := min(c.Clock.Elapsed(), at)
		if p.sampler != nil {
			p.sampler.holds(p, now)
		}
		switch {
		case now < at:
			return now
		case at == next:
			return next
		default:
			c.Renew()
		}
	}
}

// happenings plays the events of this instant, except a restart, which comes later.
func (p *player) happenings(at time.Duration) error {
	for len(p.events) > 0 && p.events[0].At <= at {
		e := &p.events[0]
		p.events = p.events[1:]
		if p.waits(e) {
			p.wait(e, at)
			continue
		}
		if e.Restart != nil {
			p.restarts = true
		} else if err := p.happen(e); err != nil {
			return e.impossible(at, err)
		}
		p.tellEvent(e)
		if e.API != nil {
			p.goOnWaiting()
		}
	}
	return nil
}

// steps lets the controller do what is due until no more pods come back at this instant.
func (p *player) steps(ctx context.Context, at time.Duration) error {
	for range maxLaps {
		p.comeBack(at)
		p.next = time.Time{}
		if !p.leader.vacant || !p.leader.process { // there is somebody to step
			next, err := p.world.step(ctx)
			if err != nil {
				return err
			}
			p.next = next
		}
		if p.nextComeback() > at {
			return nil
		}
	}
	return fmt.Errorf("at %v pods come back and are evicted again without end: replaceAfter is too short", at)
}

// nextInstant returns when anything other than a renewal happens next.
func (p *player) nextInstant() time.Duration {
	next := never
	for i := range p.ongoing {
		if of := p.ongoing[i].next; of != nil {
			next = min(next, of())
		}
	}
	return next
}

// renewals makes kubelets renew whose turn is now.
func (p *player) renewals(at time.Duration) {
	for p.cluster.NextRenewal() <= at {
		p.cluster.Renew()
	}
}
