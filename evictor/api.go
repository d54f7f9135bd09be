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

// waits are for how long what has failed is left alone. They ask the user's Jitter: nothing is locked meanwhile.
type waits struct {
	least                      time.Duration
	refusals, conflicts, probe timedworker.Backoff
}

func (c Config) waits(jitter func(time.Duration) time.Duration) waits {
	until := func(first, most time.Duration) timedworker.Backoff {
		return timedworker.Backoff{Initial: first, Max: most, Factor: 2, Jitter: jitter}
	}
	every := probeInterval(c)
	return waits{
		least: c.RetryInitial, refusals: until(min(c.GateInterval, c.RetryMax), c.RetryMax), probe: until(every, every),
		conflicts: until(c.RetryInitial, max(c.RetryInitial, min(c.RetryMax, maxConflictWait))),
	}
}

// untilProbe is the time until the next probe, jittered: other programs have lost the same API server.
func (w *waits) untilProbe() time.Duration { return max(w.probe.Delay(1, nil), w.least) }

// refused is how long after a number of refusals in a row that ask for no time of their own an eviction is tried again.
func (w *waits) refused(times int) time.Duration { return max(w.refusals.Delay(times, nil), w.least) }

// conflicted is how long after a number of conflicts in a row a node or pod is tried again. A conflict is an answer: what was
// read was old, which is over soon and no reason to back off as from an API server that fails.
func (w *waits) conflicted(times int) time.Duration { return max(w.conflicts.Delay(times, nil), 1) }
