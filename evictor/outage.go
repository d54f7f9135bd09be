package evictor

import (
	"errors"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/armed"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/timedworker"
)

// task is a piece of work that may fail because of the API server: an eviction, or a node's write or lift.
type task struct {
	pod  PodKey
	node string
	lift bool
}

// answered takes the result of a call to the API server and returns it unchanged. Any answer, an error about the
// object included, ends an outage: everything that failed for want of an answer is tried again. Called without e.mu.
func (e *Evictor) answered(err error) error {
	if outage.Failing(err) || errors.Is(err, outage.ErrPanic) {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tick()
	for _, t := range e.outage.Answered(e.now) {
		e.sooner(t, e.read.Add(e.cfg.RetryInitial)) // not in this Step: it tries an item at most once
	}
	return err
}

// tried records how a try of t ended: next is the time until the next probe if the API server failed, and 0 otherwise.
// Run is woken if a probe is due that its timer does not know of.
func (e *engine) tried(t task, next time.Duration) {
	before, probing := e.outage.Next()
	if next > 0 {
		e.outage.Failed(t, e.now, next)
	} else {
		e.outage.Ended(t, e.now)
	}
	if at, ok := e.outage.Next(); ok && (!probing || at.Before(before)) {
		e.inbox.Kick()
	}
}

// told delivers what was decided in a try of t, which ended with result. Work that is being told of cannot be brought
// forward, so if the API server answered meanwhile and it waited for that, it is tried again now. Called without e.mu.
func (e *Evictor) told(t task, result timedworker.Result) timedworker.Result {
	waits := func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.outage.Waits(t)
	}
	waited := waits()
	e.deliver()
	if waited && !waits() {
		return timedworker.Blocked(e.cfg.RetryInitial)
	}
	return result
}

// probe schedules the write that finds out whether a failing API server is back, if one is due.
func (e *engine) probe() {
	if t, ok := e.outage.Probe(e.now); ok {
		e.sooner(t, e.read)
	}
}

// sooner brings waiting work forward to at, by the clock. Work that is due earlier keeps its time.
func (e *engine) sooner(t task, at time.Time) {
	switch {
	case t.lift:
		armed.Sooner(e.lifts, t.node, at)
	case t.node != "":
		armed.Sooner(e.writes, t.node, at)
	default:
		e.armed.Sooner(t.pod, at)
	}
}
