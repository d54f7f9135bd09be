package evictor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/utils/clock"
)

// Run is a loop over what Step does, with the writes on bounded pools of workers: evictions, node
// writes and, apart from them, lifts. It returns after the context has ended and every write in flight
// has returned, with the context's error. ErrRunning is returned beside another Step or Run, and an
// error where the clock has no timers.
func (e *Evictor) Run(ctx context.Context) error {
	timers, ok := e.clock.(clock.Clock)
	if !ok {
		return fmt.Errorf("evictor: Run needs a clock with timers, %T has none", e.clock)
	}
	if !e.active.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer e.active.Store(false)
	e.limitTurns(e.cfg.NodeWorkers)
	defer e.limitTurns(0)
	e.plan() // what was told while nobody ran comes before what became due meanwhile
	ctx, stop := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	for _, run := range []func(context.Context) error{e.lifts.Run, e.writes.Run, e.pods.Run} {
		workers.Add(1)
		go func() {
			defer workers.Done()
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				stop(err)
			}
		}()
	}
	defer e.deliver()
	defer func() {
		stop(nil) // also when this loop panics: the workers would never end
		workers.Wait()
	}()
	for {
		wait := e.cfg.GateInterval
		forever := false
		if e.plan() {
			e.hand()
			e.deliver()
			next, idle := e.planNext()
			switch {
			case !idle:
				wait = 0
			case next.IsZero():
				forever = true
			default:
				wait = next.Sub(e.clock.Now())
			}
		}
		if forever {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-e.inbox.wake:
			}
			continue
		}
		timer := timers.NewTimer(max(wait, 0))
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-e.inbox.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

func (e *Evictor) limitTurns(n int) {
	e.mu.Lock()
	e.maxTurns = n
	e.mu.Unlock()
}
