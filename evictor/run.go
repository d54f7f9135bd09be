//go:build !thin

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

// Run does what Step does, in a loop, with bounded pools of workers for the writes: one each for evictions, node
// writes, lifts and questions about suspects. It also runs the clients' Source. When the context ends, Run waits for
// every write in flight and returns the context's cause. It returns ErrRunning if another Step or Run is active, and an
// error if ctx is nil, the clock has no timers or the Source ends by itself.
func (e *Evictor) Run(ctx context.Context) error {
	if err := e.begin(ctx, "Run"); err != nil {
		return err
	}
	defer e.active.Store(false)
	timers, ok := e.opts.Clock.(clock.Clock)
	if !ok {
		return fmt.Errorf("evictor: Run needs timers: Options.Clock must be a clock.Clock, which %T is not", e.opts.Clock)
	}
	e.setWorkers(e.cfg.NodeWorkers)
	defer e.setWorkers(0)
	ctx, stop := context.WithCancelCause(ctx)
	defer e.runSource(ctx, stop)() // runs until the last writes have been seen and reported
	e.plan()                       // events that came before Run are handled before work that became due meanwhile
	var workers sync.WaitGroup
	for _, run := range []func(context.Context) error{e.lifts.Run, e.asks.Run, e.writes.Run, e.armed.Fresh.Run, e.armed.Refused.Run} {
		workers.Add(1)
		go func() {
			defer workers.Done()
			stop(run(ctx)) // does nothing if the context has ended
		}()
	}
	defer e.deliver()
	defer func() {
		stop(nil) // even if this loop panics, or the workers would never end
		workers.Wait()
	}()
	for {
		wait, wake := e.cfg.GateInterval, true
		planned := e.plan()
		if planned {
			e.hand()
		}
		e.deliver() // before the wait is known: an observer may be slow
		if planned {
			next, read, _ := e.planNext()
			wait, wake = next.Sub(read), !next.IsZero()
		}
		var due <-chan time.Time // nil, which never fires, if nothing will be due
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

// begin begins a Run or a Step.
func (e *Evictor) begin(ctx context.Context, call string) error {
	switch {
	case e.inbox == nil:
		return fmt.Errorf("evictor: %s of a zero Evictor: make one with New", call)
	case ctx == nil:
		return fmt.Errorf("evictor: %s needs a context, not nil", call)
	case !e.active.CompareAndSwap(false, true):
		return ErrRunning
	}
	return nil
}

// runSource runs the source until the returned function is called, which waits until it has ended.
func (e *Evictor) runSource(ctx context.Context, failed context.CancelCauseFunc) (stop func()) {
	source := e.clients.Source
	if source == nil {
		return func() {}
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := source.Run(watching); watching.Err() == nil {
			failed(fmt.Errorf("evictor: its source has ended: %w", cmp.Or(err, errors.New("no error"))))
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// setWorkers sets how many workers write nodes; 0 means that Step does. It also bounds how many turns are out at once:
// if every worker hangs, no further node gets a turn, so that they are not all tainted at once when the workers are free
// again.
func (e *Evictor) setWorkers(n int) {
	e.mu.Lock()
	e.pooled = n > 0
	e.turns.Limit(n)
	e.mu.Unlock()
}
