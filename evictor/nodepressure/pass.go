package nodepressure

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/evictkit/evictkit/internal/steady"
)

// pass measures, decides, reclaims and begins to evict; while an eviction is in progress only what does not
// wait for it. The next pass comes a period after its end.
func (m *Manager) pass(ctx context.Context) {
	var evictions []Eviction
	var err error
	guard(&err, func() error { evictions = m.decide(ctx); return nil })
	if err != nil {
		m.report(fmt.Errorf("nodepressure: in a pass: %w", err))
	}
	m.nextPass = steady.Add(m.now(), m.config.MonitoringPeriod)
	if len(evictions) > 0 {
		m.evict(evictions)
	}
}

// decide returns the pods to evict.
func (m *Manager) decide(ctx context.Context) []Eviction {
	stats, err := m.clients.StatsProvider.Stats(ctx)
	if err != nil {
		m.report(fmt.Errorf("nodepressure: measuring the node: %w", err))
		return nil
	}
	stats.Pods = m.withoutHanging(stats.Pods)
	d := m.machine.Observe(stats)
	m.show(d)
	if m.progress != nil && !(m.progress.soft && hard(d)) {
		return nil
	}
	if d.Action == ReclaimNode && ctx.Err() == nil {
		d = m.machine.AfterReclaim(d, m.reclaim(ctx, d.Reclaim))
		m.show(d)
	}
	if d.Action != EvictPods {
		return nil
	}
	return d.Evictions
}

// hard says whether a decision does not wait for a soft eviction: to reclaim may help, though nobody can be
// evicted.
func hard(d Decision) bool {
	if d.Threshold.Signal != "" {
		return d.Threshold.Hard()
	}
	return len(d.Evictions) > 0 // above their limits
}

// withoutHanging leaves out the pods that somebody is killing already, though not for the eviction in
// progress: they would be chosen again and again. The given slice is not changed.
func (m *Manager) withoutHanging(pods []Pod) []Pod {
	if !slices.ContainsFunc(m.kills, func(k *kill) bool { return k.hanging }) {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool {
		k := m.killing(pod.Pod)
		return k != nil && k.hanging
	})
}

// reclaim returns the sample taken after it, an empty one when there is none or the context has ended.
func (m *Manager) reclaim(ctx context.Context, what []Reclaim) Stats {
	if m.clients.Reclaimer == nil {
		return Stats{}
	}
	for _, r := range what {
		if ctx.Err() != nil {
			return Stats{}
		}
		var err error
		guard(&err, func() error { return m.clients.Reclaimer.Reclaim(ctx, r) })
		if err != nil {
			m.report(fmt.Errorf("nodepressure: reclaiming %s: %w", r, err))
		}
	}
	var stats Stats
	var err error
	guard(&err, func() (err error) { stats, err = m.clients.StatsProvider.Stats(ctx); return err })
	if err != nil {
		m.report(fmt.Errorf("nodepressure: measuring the node after reclaiming: %w", err))
		return Stats{}
	}
	return stats
}

// show gives a decision to whoever wants to see it.
func (m *Manager) show(d Decision) {
	if m.config.OnDecision == nil {
		return
	}
	var err error
	guard(&err, func() error { m.config.OnDecision(d); return nil })
	if err != nil {
		m.report(fmt.Errorf("nodepressure: OnDecision: %w", err))
	}
}

func (m *Manager) report(err error) {
	if m.config.OnError != nil {
		var panicked error // there is nobody left to say it to
		guard(&panicked, func() error { m.config.OnError(err); return nil })
	}
}

// guard calls f. Its panic is an error, and so is runtime.Goexit, which is not stopped.
func guard(err *error, f func() error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		*err = fmt.Errorf("runtime.Goexit was called")
		if value := recover(); value != nil {
			*err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	*err = f()
	returned = true
}
