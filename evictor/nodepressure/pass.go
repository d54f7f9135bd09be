package nodepressure

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/evictkit/evictkit/internal/steady"
)

// pass measures, decides, reclaims and starts evictions. While an eviction is in progress it only measures and decides,
// unless a hard shortage replaces a soft eviction. The next pass comes a period after this one ends.
func (m *Manager) pass(ctx context.Context) {
	var evictions []Eviction
	if err := guard(func() error { evictions = m.decide(ctx); return nil }); err != nil {
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
	m.tell(d.Unmeasured)
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

// tell reports each threshold that has no sample now, once until it has one again.
func (m *Manager) tell(unmeasured []Threshold) {
	for i := range unmeasured {
		is := func(t Threshold) bool { return t.String() == unmeasured[i].String() }
		if !slices.ContainsFunc(m.unmeasured, is) {
			m.report(fmt.Errorf("nodepressure: threshold %s: there is no sample of %s: it counts as not met", unmeasured[i], unmeasured[i].Signal))
		}
	}
	m.unmeasured = unmeasured
}

// hard says whether a decision takes precedence over a soft eviction in progress. A hard threshold does even if no pod
// can be evicted, because reclaiming may help.
func hard(d Decision) bool {
	if d.Threshold.Signal != "" {
		return d.Threshold.Hard()
	}
	return len(d.Evictions) > 0 // above their limits
}

// withoutHanging leaves out the pods of hanging Kills, which would be chosen again and again. It does not change the
// given slice.
func (m *Manager) withoutHanging(pods []Pod) []Pod {
	if !slices.ContainsFunc(m.kills, func(k *kill) bool { return k.hanging }) {
		return pods
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod Pod) bool {
		k := m.killing(pod.Pod)
		return k != nil && k.hanging
	})
}

// reclaim returns a sample taken after reclaiming. It is empty if there is none or the context has ended.
func (m *Manager) reclaim(ctx context.Context, what []Reclaim) Stats {
	if m.clients.Reclaimer == nil {
		return Stats{}
	}
	for _, r := range what {
		if ctx.Err() != nil {
			return Stats{}
		}
		if err := guard(func() error { return m.clients.Reclaimer.Reclaim(ctx, r) }); err != nil {
			m.report(fmt.Errorf("nodepressure: reclaiming %s: %w", r, err))
		}
	}
	var stats Stats
	if err := guard(func() (err error) { stats, err = m.clients.StatsProvider.Stats(ctx); return err }); err != nil {
		m.report(fmt.Errorf("nodepressure: measuring the node after reclaiming: %w", err))
		return Stats{}
	}
	return stats
}

// show passes a decision to OnDecision.
func (m *Manager) show(d Decision) {
	if m.config.OnDecision == nil {
		return
	}
	if err := guard(func() error { m.config.OnDecision(d); return nil }); err != nil {
		m.report(fmt.Errorf("nodepressure: OnDecision: %w", err))
	}
}

func (m *Manager) report(err error) {
	if m.config.OnError != nil {
		_ = guard(func() error { m.config.OnError(err); return nil }) // there is nowhere left to report a panic
	}
}

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	return f()
}
