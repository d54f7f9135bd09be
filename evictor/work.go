//go:build !thin

package evictor

import (
	"errors"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/armed"
	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/timedworker"
)

// task is a piece of work that may fail because of the API server: an eviction, a node's write or lift, or a question about
// a suspect.
type task struct {
	pod  PodKey
	node string
	lift bool
	ask  bool
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
		if s := e.suspects[t.node]; t.ask && s != nil {
			e.askedAnew(s)
		}
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

// probe schedules the write that finds out whether a failing API server is back, if one is due.
func (e *engine) probe() {
	if t, ok := e.outage.Probe(e.now); ok {
		e.sooner(t, e.read)
	}
}

// sooner brings waiting work forward to at, by the clock. Work that is due earlier keeps its time.
func (e *engine) sooner(t task, at time.Time) {
	switch {
	case t.ask:
		armed.Sooner(e.asks, t.node, at)
	case t.lift:
		armed.Sooner(e.lifts, t.node, at)
	case t.node != "":
		armed.Sooner(e.writes, t.node, at)
	default:
		e.armed.Sooner(t.pod, at)
	}
}

// nodeWork is a write of a node or a question about it.
type nodeWork = timedworker.Work[string, struct{}]

// schedule makes a worker look at the node at that time; e.mu is held. Work that failed still waits for its
// backoff: otherwise the events that each try causes would make it try for ever, and it reads the current node anyway
// when it runs. Work in flight may have read an older node, so it runs once more.
func schedule(set *timedworker.Set[string, struct{}], rec *record, at time.Time) {
	set.ScheduleEntry(timedworker.Entry[string, struct{}]{Key: rec.name, Due: at, OnDuplicate: timedworker.KeepEarliest})
}
