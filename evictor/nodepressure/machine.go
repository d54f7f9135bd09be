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

// Machine decides from one sample of a node after the other. It starts no goroutine, does no I/O and
// keeps nothing of what it is given but the times and amounts of samples. All methods are safe for concurrent use.
type Machine struct {
	config Config
	clock  clock.PassiveClock

	mu      sync.Mutex  // guards what follows
	time    steady.Time // of our own clock; all instants but those of samples are counted in it
	watched []watched   // in the order in which they are acted on
	sampled [signalCount]time.Time
	seen    [pressureCount]int64   // when a shortage last called for the condition
	ever    [pressureCount]bool    // one has done so
	called  [pressureCount]bool    // one does so now
	under   []v1.NodeConditionType // the conditions as returned last; never changed
}

// watched is a threshold and its state. Amounts are whole units, rounded up: no less than that many are
// available is the same as no less than the exact amount.
type watched struct {
	Threshold
	index  int   // of the signal
	value  int64 // amounts that do not depend on the capacity
	total  int64 // value and minimum reclaim together
	since  int64
	met    bool
	due    bool // met for its grace period
	rising bool // met only because of the minimum reclaim
	stale  bool
	sample Sample
}

// New returns a machine that has seen nothing yet, or the faults of the configuration.
func New(config Config) (*Machine, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("nodepressure: %w", err)
	}
	m := &Machine{config: config, clock: config.Clock}
	if m.clock == nil {
		m.clock = clock.RealClock{}
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

// Thresholds returns the thresholds that are watched, those of the container file system derived, in
// the order in which they are acted on.
func (m *Machine) Thresholds() []Threshold { return slices.Clone(m.config.Thresholds) }

// Observe takes a sample of the node and decides. A Decision is taken once for each sample: when nothing
// was measured since the last call, nothing is evicted for a threshold. A pod that exceeds its limits goes before
// anything else is done, and then all such pods go at once; else the first threshold that is due is
// acted on. It costs a pass over the thresholds and, with LocalStorageLimits, over the pods; ranking them
// only where one has to go.
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

// evict is the decision when there is nothing to reclaim any more.
func (d Decision) evict() Decision {
	d.Action, d.Reclaim = EvictPods, nil
	if len(d.Evictions) == 0 {
		d.Action = Stuck
	}
	return d
}

// AfterReclaim is the decision that follows one to ReclaimNode, once that is done, with a new sample:
// Nothing when no threshold is met any more by its minimum reclaim, else what d has in store. Without
// signals in the sample, as when it could not be taken, pods are evicted. Other decisions are returned
// as they are. Like upstream it looks at all thresholds, met before or not, and pods go in the order
// that was found before.
func (m *Machine) AfterReclaim(d Decision, stats Stats) Decision {
	if d.Action != ReclaimNode {
		return d
	}
	relieved := len(stats.Signals) > 0
	for i := range m.watched {
		w := &m.watched[i] // only what never changes is read, without the lock
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

// amount is what must be available for the threshold not to be met, or with the minimum reclaim to be
// met no longer.
func (w *watched) amount(capacity int64, withReclaim bool) int64 {
	if !withReclaim {
		return add(w.value, share(capacity, w.Value.Percentage))
	}
	return add(w.total, add(share(capacity, w.Value.Percentage), share(capacity, w.MinReclaim.Percentage)))
}

// observe moves the state on and returns what is so now, with the index in Met of the threshold to act
// on or -1.
func (m *Machine) observe(stats Stats) (d Decision, first int) {
	reading := m.clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.time.Read(reading)
	d.Time = m.time.Instant(now)
	m.called = [pressureCount]bool{}
	count := 0
	for i := range m.watched {
		w := &m.watched[i]
		w.compare(stats.Signals, now)
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
		// What was seen stays seen while a sample is missing.
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

// compare says whether the threshold is met, since when, and whether it is due. Only one that was due
// stays met until its minimum reclaim is available.
func (w *watched) compare(samples map[Signal]Sample, now int64) {
	sample, ok := samples[w.Signal]
	below := ok && w.amount(sample.Capacity, false) > sample.Available
	w.rising = ok && !below && w.due && w.amount(sample.Capacity, true) > sample.Available
	was := w.met
	w.met = below || w.rising
	if !w.met {
		w.due = false
		return
	}
	if !was {
		w.since = now
	}
	w.due = now-w.since >= int64(w.GracePeriod)
	w.sample = sample
}

// conditions are those that a shortage calls for, or did less than the transition period ago; nil when
// there is none. Called with the lock.
func (m *Machine) conditions(now int64) []v1.NodeConditionType {
	var under [pressureCount]v1.NodeConditionType
	n := 0
	for i, seen := range m.seen {
		if m.called[i] || m.ever[i] && now-seen < int64(m.config.PressureTransitionPeriod) {
			under[n] = conditionTypes[i]
			n++
		}
	}
	if !slices.Equal(m.under, under[:n]) { // who has the old ones keeps them
		m.under = append([]v1.NodeConditionType(nil), under[:n]...)
	}
	return m.under
}

// Conditions returns the node's pressure conditions as of the last Observe. They must not be changed.
func (m *Machine) Conditions() []v1.NodeConditionType {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conditions(m.time.Elapsed())
}

// Admit says whether the node takes the pod, as of the last Observe.
func (m *Machine) Admit(pod *v1.Pod) Admission { return Admit(m.Conditions(), pod) }

// Next is when the decision next changes though the samples do not: when a grace period ends, or a
// condition that nothing calls for any more. It is false when neither is pending.
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
