package evictor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Run is a loop over what Step does, with the writes on bounded pools of workers: evictions, node
// writes and, apart from them, lifts. It runs the clients' Source too. It returns after the context has ended and every
// write in flight has returned, with the context's error. ErrRunning is returned beside another Step or Run, and an
// error where the clock has no timers or the Source ends by itself.
func (e *Evictor) Run(ctx context.Context) error {
	timers, ok := e.clock.(clock.Clock)
	if !ok {
		return fmt.Errorf("evictor: Run needs a clock with timers, %T has none", e.clock)
	}
	if !e.active.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer e.active.Store(false)
	e.setWorkers(e.cfg.NodeWorkers)
	defer e.setWorkers(0)
	ctx, stop := context.WithCancelCause(ctx)
	defer e.runSource(ctx, stop)() // what is written last is seen and told, too
	e.plan()                       // what was told while nobody ran comes before what became due meanwhile
	var workers sync.WaitGroup
	for _, run := range []func(context.Context) error{e.lifts.Run, e.writes.Run, e.armed.fresh.Run, e.armed.refused.Run} {
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
		wait, wake := e.cfg.GateInterval, true
		if e.plan() {
			e.hand()
			next, read, idle := e.planNext()
			if wait, wake = next.Sub(read), !next.IsZero(); !idle {
				wait, wake = 0, true
			}
		}
		e.deliver()
		var due <-chan time.Time // never, unless something is
		stop := func() bool { return true }
		if wake {
			timer := timers.NewTimer(max(wait, 0))
			due, stop = timer.C(), timer.Stop
		}
		select {
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		case <-e.inbox.Wake():
		case <-due:
		}
		stop()
	}
}

// runSource runs the source until the returned function is called, which waits for its end.
func (e *Evictor) runSource(ctx context.Context, failed context.CancelCauseFunc) (stop func()) {
	if e.source == nil {
		return func() {}
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := e.source.Run(watching); watching.Err() == nil {
			failed(fmt.Errorf("evictor: its source has ended: %w", cmp.Or(err, errors.New("no error"))))
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// setWorkers tells how many act on nodes, 0 for nobody but Step: while all of them hang no node has a turn, or all would be
// tainted at once when they are free.
func (e *Evictor) setWorkers(n int) {
	e.mu.Lock()
	e.pooled = n > 0
	e.turns.Limit(n)
	e.mu.Unlock()
}
