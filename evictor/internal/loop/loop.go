// Package loop drives the halves of an evictor, one or both: Step in line, Run with workers.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/internal/environment"
)

// Loop drives parts.
type Loop struct {
	Around   *environment.Environment
	Nodes    cluster.NodeStore
	Source   cluster.Source // may be nil
	Interval time.Duration  // between questions about a store that is not complete
	Turns    int            // under Run

	active  atomic.Bool
	begun   bool   // every node was planned once
	awaited string // what was missing, as last reported
}

// ErrRunning is the error of Step and Run while another Step or Run of the same Loop is active.
var ErrRunning = errors.New("evictor: another Step or Run is active: call one at a time")

// maxLaps bounds how often one Step goes round because its own writes made something else due.
const maxLaps = 16

// Step does everything that is due now, in line and in order, and returns when to call it again.
func (l *Loop) Step(ctx context.Context) (next time.Time, err error) {
	if err := l.begin(ctx); err != nil {
		return time.Time{}, err
	}
	defer l.active.Store(false)
	defer l.Around.Out.Deliver()
	for range maxLaps {
		if err := ctx.Err(); err != nil {
			return time.Time{}, err
		}
		if !l.plan(ctx) {
			return l.Around.Shown(l.Around.Now().Add(l.Interval)), nil
		}
		if err := l.act(ctx); err != nil {
			return time.Time{}, err
		}
		if next, idle := l.next(); idle {
			return l.Around.Shown(next), nil
		}
	}
	return l.Around.Shown(l.Around.Now()), nil
}

func (l *Loop) begin(ctx context.Context) error {
	switch {
	case l.Around == nil:
		return errors.New("evictor: a zero value was used: make one with New")
	case ctx == nil:
		return errors.New("evictor: Step and Run need a context, not nil")
	case !l.active.CompareAndSwap(false, true):
		return ErrRunning
	}
	return nil
}

// plan has the parts decide. It returns false, and nothing is decided, if the store is not complete or nobody feeds us.
func (l *Loop) plan(ctx context.Context) bool {
	if l.awaits() {
		return false
	}
	nodes, pods := l.Around.Inbox.Take()
	if !l.begun { // as if every node had just changed
		nodes = nil
		for node := range l.Nodes.Nodes {
			nodes = append(nodes, node.Name)
		}
	}
	planned := false
	defer l.Around.Out.Deliver() // before anything follows from it
	defer func() {
		if !planned { // a store panicked: keep everything for the next Step
			l.putBack(nodes, pods)
		}
	}()
	l.Around.Permits.Refresh(ctx)
	for _, part := range l.Around.Parts {
		nodes = append(nodes, part.Plan(ctx, nodes, pods)...)
	}
	planned, l.begun = true, true
	return true
}

// awaits says whether something is missing before anything is decided, and reports it at once when it changes.
func (l *Loop) awaits() bool {
	missing := l.missing()
	if missing != l.awaited {
		l.awaited = missing
		l.Around.Parts[0].Report(missing, nil)
		l.Around.Out.Deliver()
	}
	return missing != ""
}

func (l *Loop) putBack(nodes []string, pods []cluster.PodKey) {
	for _, name := range nodes {
		l.Around.Inbox.Node(name)
	}
	for _, key := range pods {
		l.Around.Inbox.Pod(key)
	}
}

func (l *Loop) missing() string {
	if l.Source != nil {
		if what := l.Source.Awaits(); what != "" {
			return what
		}
	}
	if !l.Nodes.Synced() {
		return "the store to be synced"
	}
	if l.Source == nil && !l.Around.Inbox.Fed() {
		for range l.Nodes.Nodes {
			return "the program to call NodeChanged, PodChanged and LeaseObserved, or for a Source"
		}
	}
	return ""
}

// act makes the writes that are due; evictions not while there is something to read, such as our own taints.
func (l *Loop) act(ctx context.Context) error {
	defer l.Around.Out.Deliver()
	now := l.Around.Read()
	for _, part := range l.Around.Parts {
		if err := l.work(ctx, now, part.Workers...); err != nil {
			return err
		}
	}
	for _, part := range l.Around.Parts {
		if !l.Around.Inbox.Empty() {
			break
		}
		if err := l.work(ctx, now, part.Evictions); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (l *Loop) work(ctx context.Context, now environment.Reading, workers ...environment.Worker) error {
	for _, w := range workers {
		if now.Due(w.Next()) {
			if _, err := w.Step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Loop) workers() (all []environment.Worker) {
	for _, part := range l.Around.Parts {
		all = append(append(all, part.Workers...), part.Evictions)
	}
	return all
}

// next is when something is next due, and whether nothing is due now.
func (l *Loop) next() (next time.Time, idle bool) {
	soon, now := l.planNext()
	for _, w := range l.workers() {
		soon.Or(w.Next())
	}
	return soon.Time, soon.IsZero() || now.Before(soon.Time)
}

// planNext is when plan has something to do, as of now.
func (l *Loop) planNext() (soon environment.Soonest, now time.Time) {
	if now = l.Around.Now(); !l.Around.Inbox.Empty() {
		soon.Or(now, true)
	}
	soon.Or(l.Around.Permits.Next())
	for _, part := range l.Around.Parts {
		next := part.Next()
		soon.Or(next, !next.IsZero())
	}
	return soon, now
}

// Late says whether something is due that Run should have done; for tests.
func (l *Loop) Late() bool {
	soon, now := l.planNext()
	return !soon.IsZero() && !now.Before(soon.Time)
}

// Run does what Step does, in a loop, with bounded pools of workers, and runs the Source.
func (l *Loop) Run(ctx context.Context) error {
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.active.Store(false)
	if !l.Around.Timers() {
		return fmt.Errorf("evictor: Run needs timers: Options.Clock must be a clock.Clock, which %s is not", l.Around.Below())
	}
	// no turn is out that no worker takes: if every worker hangs, no further node gets one
	l.Around.MostTurns.Store(int64(l.Turns))
	defer l.Around.MostTurns.Store(0)
	ctx, stop := context.WithCancelCause(ctx)
	defer l.runSource(ctx, stop)() // runs until the last writes have been seen and reported
	l.plan(ctx)
	var running sync.WaitGroup
	for _, w := range l.workers() {
		running.Add(1)
		go func() {
			defer running.Done()
			stop(w.Run(ctx)) // does nothing if the context has ended
		}()
	}
	defer l.Around.Out.Deliver()
	defer func() {
		stop(nil)
		running.Wait()
	}()
	for ctx.Err() == nil {
		planned := l.plan(ctx)
		wait, waits := l.Interval, true
		if planned {
			soon, now := l.planNext()
			wait, waits = soon.Sub(now), !soon.IsZero()
		}
		var due <-chan time.Time
		halt := func() bool { return true }
		if waits {
			timer := l.Around.NewTimer(max(wait, 0))
			due, halt = timer.C(), timer.Stop
		}
		select {
		case <-ctx.Done():
		case <-l.Around.Inbox.Wake():
		case <-due:
		}
		halt()
	}
	return context.Cause(ctx)
}

// runSource runs the source until the returned function is called, which waits until it has ended.
func (l *Loop) runSource(ctx context.Context, failed context.CancelCauseFunc) (stop func()) {
	if l.Source == nil {
		return func() {}
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := l.Source.Run(watching); watching.Err() == nil {
			failed(fmt.Errorf("evictor: its source has ended: %w", cmp.Or(err, errors.New("no error"))))
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
