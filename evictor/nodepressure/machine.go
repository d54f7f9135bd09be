package nodepressure

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// Machine makes a decision from each sample of a node. Most callers want [Machine.Observe] first, with what they
// measured, [Machine.AfterReclaim] once they have cleaned up, and [Machine.Admit] for pods that are to start. It
// starts no goroutine, does no I/O, and keeps only times and amounts of samples. All methods are safe for concurrent
// use.
type Machine struct {
	config Config

	mu      sync.Mutex  // guards what follows
	time    steady.Time // by Config.Clock; all instants except those of samples
	watched []watched   // in the order in which they are acted on
	sampled [signalCount]time.Time
	seen    [pressureCount]int64   // when the condition was last called for
	ever    [pressureCount]bool    // it was called for before
	called  [pressureCount]bool    // it is called for now
	under   []v1.NodeConditionType // the conditions as returned last; never changed
}

// watched is a threshold and its state. Its amounts are whole units, rounded up. What is available is a whole number too,
// so comparing with the rounded amount gives the same result as comparing with the exact one.
type watched struct {
	Threshold
	index  int   // the signal's
	value  int64 // amounts that do not depend on the capacity
	total  int64 // value and minimum reclaim together
	since  int64
	met    bool
	due    bool // met for its grace period
	rising bool // met only because of the minimum reclaim
	stale  bool
	sample Sample
}

// New returns a machine that has seen no sample yet, or an error with all faults of the configuration.
func New(config Config) (*Machine, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("nodepressure: %w", err)
	}
	m := &Machine{config: config}
	if m.config.Clock == nil {
		m.config.Clock = clock.RealClock{}
	}
	thresholds, _ := DeriveContainerFs(config.Thresholds, config.Layout)
	m.watched = make([]watched, len(thresholds))
	for i, t := range thresholds {
		both := t.Value.Quantity.DeepCopy()
		both.Add(t.MinReclaim.Quantity)
		m.watched[i] = watched{Threshold: t, index: t.Signal.index(), value: whole(&t.Value.Quantity), total: whole(&both)}
	}
	m.config.Thresholds = thresholds
	return m, nil
}

// Thresholds returns the watched thresholds, including the derived ones of the container file system, in the order in
// which the machine acts on them.
func (m *Machine) Thresholds() []Threshold { return slices.Clone(m.config.Thresholds) }

// Observe takes a sample of the node and decides. If any pods exceed their limits of local storage, it evicts them all
// before anything else. Otherwise it acts on the first threshold that is due, but only once for each measurement: if
// the sample is not newer than the last one, it evicts no pod for it. The cost is a pass over the thresholds and, with
// LocalStorageLimits, over the pods; it ranks pods only if one must go.
func (m *Machine) Observe(stats Stats) Decision {
	d, first := m.observe(stats)
	if m.config.LocalStorageLimits {
		if evictions := overLimits(stats.Pods, m.config.Layout); len(evictions) > 0 {
			d.Action, d.Evictions = EvictPods, evictions
			return d
		}
	}
	if first < 0 {
		return d
	}
	d.Threshold, d.Sample, d.maxSeconds = d.Met[first].Threshold, d.Met[first].Sample, m.config.MaxPodGracePeriodSeconds
	d.Ranked = Rank(stats.Pods, d.Threshold.Signal, m.config.Layout, m.config.Ranking)
	for i := range d.Ranked {
		if d.Ranked[i].Protection == Evictable {
			d.Evictions = []Eviction{d.Eviction(&d.Ranked[i])}
			break
		}
	}
	d.Reclaim = m.config.Layout.reclaims(d.Threshold.Signal)
	if len(d.Reclaim) > 0 {
		d.Action = ReclaimNode
		return d
	}
	return d.evict()
}

// evict turns the decision into the one that follows when nothing is left to reclaim.
func (d Decision) evict() Decision {
	d.Action, d.Reclaim = EvictPods, nil
	if len(d.Evictions) == 0 {
		d.Action = Stuck
	}
	return d
}

// AfterReclaim takes a sample measured after reclaiming, and decides what follows d: Nothing if every threshold and its
// minimum reclaim is available, otherwise the eviction in d. The eviction also follows if the sample has no signals,
// for example because measuring failed. Like upstream, it looks at all thresholds, including those that were not met
// before, and keeps the order of pods in d. It returns a decision with another Action as it is.
func (m *Machine) AfterReclaim(d Decision, stats Stats) Decision {
	if d.Action != ReclaimNode {
		return d
	}
	relieved := len(stats.Signals) > 0
	for i := range m.watched {
		w := &m.watched[i] // no lock: only constant fields are read
		if sample, ok := stats.Signals[w.Signal]; ok && w.amount(sample.Capacity, true) > sample.Available {
			relieved = false
		}
	}
	if relieved {
		d.Action, d.Reclaim, d.Evictions = Nothing, nil, nil
		return d
	}
	return d.evict()
}

// amount returns how much must be available for the threshold not to be met or, with withReclaim, for it to be met no
// longer. A minimum reclaim that the capacity cannot have would evict every pod, one after the other, from a node that
// was short for a moment: it does not count.
func (w *watched) amount(capacity int64, withReclaim bool) int64 {
	if !withReclaim {
		return add(w.value, share(capacity, w.Value.Percentage))
	}
	both := add(w.total, add(share(capacity, w.Value.Percentage), share(capacity, w.MinReclaim.Percentage)))
	if capacity > 0 && both >= capacity {
		return w.amount(capacity, false) // as much will never be available
	}
	return both
}

// observe updates the state and returns the decision so far, with the index in Met of the threshold to act on, or -1.
func (m *Machine) observe(stats Stats) (d Decision, first int) {
	if m.config.Clock == nil {
		panic("nodepressure: a zero Machine was used: make one with New") //nolint:forbidigo // a bug of the caller's
	}
	reading := m.config.Clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.time.Read(reading)
	d.Time = m.time.Instant(now)
	m.called = [pressureCount]bool{}
	count := 0
	for i := range m.watched {
		w := &m.watched[i]
		if !w.compare(stats.Signals, now) && !w.Signal.containerFs() {
			d.Unmeasured = append(d.Unmeasured, w.Threshold)
		}
		if !w.met {
			continue
		}
		count++
		last := m.sampled[w.index]
		w.stale = !w.sample.Time.IsZero() && !last.IsZero() && !w.sample.Time.After(last)
		condition := signals[w.index].condition
		m.called[condition], m.ever[condition], m.seen[condition] = true, true, now
	}
	for signal, sample := range stats.Signals {
		// A missing sample does not erase the time of the last one.
		if i := signal.index(); i >= 0 {
			m.sampled[i] = sample.Time
		}
	}
	d.Conditions = m.conditions(now)
	first = -1
	if count == 0 {
		return d, first
	}
	d.Met = make([]MetThreshold, 0, count)
	for i := range m.watched {
		w := &m.watched[i]
		if !w.met {
			continue
		}
		if first < 0 && w.due && !w.stale {
			first = len(d.Met)
		}
		d.Met = append(d.Met, MetThreshold{Threshold: w.Threshold, Sample: w.sample, Since: m.time.Instant(w.since), Due: w.due, Rising: w.rising, Stale: w.stale})
	}
	return d, first
}

// compare updates whether the threshold is met, since when, and whether it is due. Only a threshold that was due stays
// met until its minimum reclaim is available. It returns whether there is a sample of its signal.
func (w *watched) compare(samples map[Signal]Sample, now int64) (measured bool) {
	sample, ok := samples[w.Signal]
	below := ok && w.amount(sample.Capacity, false) > sample.Available
	w.rising = ok && !below && w.due && w.amount(sample.Capacity, true) > sample.Available
	was := w.met
	w.met = below || w.rising
	if !w.met {
		w.due = false
		return ok
	}
	if !was {
		w.since = now
	}
	w.due = now-w.since >= int64(w.GracePeriod)
	w.sample = sample
	return ok
}

// conditions returns the conditions that a shortage calls for now or called for within the transition period, nil if
// there are none. The lock is held.
func (m *Machine) conditions(now int64) []v1.NodeConditionType {
	var under [pressureCount]v1.NodeConditionType
	n := 0
	for i, seen := range m.seen {
		if m.called[i] || m.ever[i] && now-seen < int64(m.config.PressureTransitionPeriod) {
			under[n] = conditionTypes[i]
			n++
		}
	}
	if !slices.Equal(m.under, under[:n]) { // earlier decisions share the old slice
		m.under = append([]v1.NodeConditionType(nil), under[:n]...)
	}
	return m.under
}

// Conditions returns the node's pressure conditions as of the last Observe. Do not change the slice.
func (m *Machine) Conditions() []v1.NodeConditionType {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conditions(m.time.Elapsed())
}

// Admit says whether the node admits the pod, as of the last Observe.
func (m *Machine) Admit(pod *v1.Pod) Admission { return Admit(m.Conditions(), pod) }

// Next returns when the decision next changes even if the samples do not: when a grace period ends, or the transition
// period of a condition. It returns false if neither is pending.
func (m *Machine) Next() (next time.Time, pending bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := int64(math.MaxInt64)
	for i := range m.watched {
		if w := &m.watched[i]; w.met && !w.due {
			first, pending = min(first, steady.Add(w.since, w.GracePeriod)), true
		}
	}
	for i, seen := range m.seen {
		end := steady.Add(seen, m.config.PressureTransitionPeriod)
		if m.ever[i] && !m.called[i] && end > m.time.Elapsed() {
			first, pending = min(first, end), true
		}
	}
	if !pending {
		return time.Time{}, false
	}
	return m.time.Instant(first), true
}
