package evictor

import (
	"errors"
	"time"

	"github.com/evictkit/evictkit/evictor/internal/outage"
	"github.com/evictkit/evictkit/timedworker"
)

// task is a piece of work that may fail because of the API server: an eviction, or a node's write or lift.
type task struct {
	pod  PodKey
	node string
	lift bool
}

// maxConflictWait bounds how long after a conflict a node or pod is read and tried again.
const maxConflictWait = 5 * time.Second

// probeInterval is how often one write is tried while the API server fails: once a pass.
func probeInterval(cfg Config) time.Duration {
	if cfg.NodeMonitorPeriod > 0 {
		return cfg.NodeMonitorPeriod
	}
	return 5 * time.Second
}

// answered hands on what a call to the API server came to. If that is an answer, whichever, all that failed for want of one is
// tried again. Called without e.mu.
func (e *Evictor) answered(err error) error {
	if outage.Failing(err) || errors.Is(err, outage.ErrPanic) {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.tick()
	for _, t := range e.outage.Answered(now) {
		e.trySoon(t, e.read.Add(e.cfg.RetryInitial)) // not twice in a Step
	}
	return err
}

// probe tries one of the writes that failed while the API server does.
func (e *engine) probe(now time.Time) {
	if t, ok := e.outage.Probe(now); ok {
		e.trySoon(t, e.read)
	}
}

// trySoon lets work that waits be tried when the clock shows that time, if not before.
func (e *engine) trySoon(t task, at time.Time) {
	switch {
	case t.lift:
		sooner(e.lifts, t.node, at)
	case t.node != "":
		sooner(e.writes, t.node, at)
	default:
		e.armed.Sooner(t.pod, at)
	}
}

// sooner brings work that waits for later forward to that time.
func sooner[K comparable, V any](set *timedworker.Set[K, V], key K, at time.Time) {
	if st, ok := set.Get(key); ok && !st.Running && st.Due.After(at) {
		set.ScheduleEntry(timedworker.Entry[K, V]{Key: key, Value: st.Value, Due: at, OnDuplicate: timedworker.Replace})
	}
}

// untilProbe is the time until the next probe, jittered: other programs have lost the same API server. Called without e.mu.
func (e *Evictor) untilProbe() time.Duration {
	every := probeInterval(e.cfg)
	return max(timedworker.Backoff{Initial: every, Max: every, Factor: 1, Jitter: e.opts.Jitter}.Delay(1, nil), e.cfg.RetryInitial)
}

// conflictWait is how long after a number of conflicts in a row a node or pod is tried again. A conflict is an answer: what was
// read was old, which is over soon and no reason to back off as from an API server that fails. Called without e.mu.
func (e *Evictor) conflictWait(conflicts int) time.Duration {
	return max(e.conflict.Delay(conflicts, nil), 1)
}
