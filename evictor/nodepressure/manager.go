package nodepressure

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

// StatsProvider measures the node.
type StatsProvider interface {
	// Stats takes a new sample. While it fails nothing is decided.
	Stats(ctx context.Context) (Stats, error)
}

// Reclaimer gets back what no pod needs.
type Reclaimer interface {
	// Reclaim returns when it has got back what it could. An error does not stop what follows.
	Reclaim(ctx context.Context, what Reclaim) error
}

// Killer kills pods.
type Killer interface {
	// Kill writes the eviction into the pod's status and kills the pod with the given grace period. It
	// returns when the pod is dead, or has failed to die. An error is reported, and the pod counts as
	// evicted all the same: the next pass sees whether the shortage lasts. The context ends when a hard
	// eviction takes the place of a soft one; Kill is then to return soon, and the same pod may be killed
	// again, in less time.
	Kill(ctx context.Context, eviction Eviction) error
	// CleanedUp says whether everything the pod held has been given back.
	CleanedUp(pod *v1.Pod) bool
}

// Clients are what a Manager acts through. It calls one of them at a time, but Stats, Reclaim and
// CleanedUp while a soft eviction's Kill has not returned. Reclaimer may be nil: then nothing is reclaimed,
// and pods are evicted instead.
type Clients struct {
	StatsProvider StatsProvider
	Reclaimer     Reclaimer
	Killer        Killer
}

// ManagerConfig configures a Manager. Start from DefaultManagerConfig.
type ManagerConfig struct {
	// MonitoringPeriod is the time between passes in which nobody is evicted.
	MonitoringPeriod time.Duration
	// CleanupTimeout is how long a pass waits, after its pods were killed, for what they held;
	// CleanupPoll is how often it looks.
	CleanupTimeout, CleanupPoll time.Duration
	// Clock is the real clock when nil.
	Clock clock.Clock
	// OnDecision, if set, is told of every decision, also of those that are not acted on because a soft
	// eviction is in progress. OnError is told what failed. Both are called from Run and must not block.
	OnDecision func(Decision)
	OnError    func(error)
}

// DefaultManagerConfig returns the kubelet's constants: 10s, 30s, 1s.
func DefaultManagerConfig() ManagerConfig {
	return ManagerConfig{MonitoringPeriod: 10 * time.Second, CleanupTimeout: 30 * time.Second, CleanupPoll: time.Second}
}

// Validate reports every fault at once.
func (c ManagerConfig) Validate() error {
	var errs field.ErrorList
	positive := func(name string, d time.Duration) {
		if d <= 0 {
			errs = append(errs, field.Invalid(field.NewPath(name), d.String(), "must be greater than 0"))
		}
	}
	positive("monitoringPeriod", c.MonitoringPeriod)
	positive("cleanupTimeout", c.CleanupTimeout)
	positive("cleanupPoll", c.CleanupPoll)
	return errs.ToAggregate()
}

// ErrRunning is returned by Run while another Run of the same Manager has not returned.
var ErrRunning = errors.New("nodepressure: already running")

// Manager drives a Machine: it measures every MonitoringPeriod, reclaims, kills one pod at a time and
// waits until that has given back what it held.
type Manager struct {
	machine *Machine
	clients Clients
	config  ManagerConfig
	wake    chan struct{}
	running atomic.Bool
	// nextPass is when the next pass is due while an eviction is in progress; only Run uses it.
	nextPass time.Time
}

// NewManager returns a manager that does nothing until Run, or the faults of the configuration. The
// machine should have the same clock.
func NewManager(machine *Machine, clients Clients, config ManagerConfig) (*Manager, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("nodepressure: %w", err)
	}
	if machine == nil || clients.StatsProvider == nil || clients.Killer == nil {
		return nil, errors.New("nodepressure: a manager needs a machine, a StatsProvider and a Killer")
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Manager{machine: machine, clients: clients, config: config, wake: make(chan struct{}, 1)}, nil
}

// Notify makes the next pass come at once, as when the kernel tells that memory has run low. It never
// blocks, may be called from anywhere, and is remembered while Run is busy or not yet called. A hard
// eviction in progress is not interrupted.
func (m *Manager) Notify() {
	select {
	case m.wake <- struct{}{}:
	default: // one is remembered already
	}
}

// Run passes until the context ends, and returns its error after everything it started has returned.
func (m *Manager) Run(ctx context.Context) error {
	if !m.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer m.running.Store(false)
	for ctx.Err() == nil {
		evictions := m.pass(ctx, false)
		if len(evictions) == 0 {
			m.sleep(ctx, m.config.MonitoringPeriod, nil, true)
		}
		for len(evictions) > 0 && ctx.Err() == nil {
			evictions = m.evict(ctx, evictions)
		}
	}
	return context.Cause(ctx)
}

// pass measures, decides and reclaims; it returns the pods to evict. With hardOnly it acts on nothing
// that can wait.
func (m *Manager) pass(ctx context.Context, hardOnly bool) []Eviction {
	stats, err := m.clients.StatsProvider.Stats(ctx)
	if err != nil {
		m.report(fmt.Errorf("nodepressure: measuring the node: %w", err))
		return nil
	}
	d := m.machine.Observe(stats)
	m.tell(d)
	if hardOnly && !hard(d) {
		return nil
	}
	if d.Action == ReclaimNode && ctx.Err() == nil {
		d = m.machine.AfterReclaim(d, m.reclaim(ctx, d.Reclaim))
		m.tell(d)
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

// reclaim returns the sample taken after it, an empty one when there is none or the context has ended.
func (m *Manager) reclaim(ctx context.Context, what []Reclaim) Stats {
	if m.clients.Reclaimer == nil {
		return Stats{}
	}
	for _, r := range what {
		if ctx.Err() != nil {
			return Stats{}
		}
		if err := m.clients.Reclaimer.Reclaim(ctx, r); err != nil {
			m.report(fmt.Errorf("nodepressure: reclaiming %s: %w", r, err))
		}
	}
	stats, err := m.clients.StatsProvider.Stats(ctx)
	if err != nil {
		m.report(fmt.Errorf("nodepressure: measuring the node after reclaiming: %w", err))
		return Stats{}
	}
	return stats
}

// evict kills pods one after the other and waits for what they held. Meanwhile passes go on only when the
// eviction is soft, and the evictions of one that is hard are returned, to take its place.
func (m *Manager) evict(ctx context.Context, evictions []Eviction) []Eviction {
	soft := !evictions[0].Hard
	killing, stop := context.WithCancel(ctx)
	dead := make(chan struct{})
	var failed error // written before dead is closed
	go func() {
		defer close(dead)
		for _, e := range evictions {
			if killing.Err() != nil {
				return // the others live on
			}
			if err := m.clients.Killer.Kill(killing, e); err != nil {
				failed = errors.Join(failed, fmt.Errorf("nodepressure: killing pod %s/%s: %w", e.Pod.Namespace, e.Pod.Name, err))
			}
		}
	}()
	defer func() {
		stop()
		<-dead
		if failed != nil {
			m.report(failed)
		}
	}()

	m.nextPass = m.config.Clock.Now().Add(m.config.MonitoringPeriod)
	for ctx.Err() == nil && !closed(dead) {
		if next := m.pause(ctx, m.config.MonitoringPeriod, dead, soft); len(next) > 0 {
			return next
		}
	}
	deadline := m.config.Clock.Now().Add(m.config.CleanupTimeout)
	for left := m.config.CleanupTimeout; left > 0 && ctx.Err() == nil; left = deadline.Sub(m.config.Clock.Now()) {
		if next := m.pause(ctx, min(m.config.CleanupPoll, left), nil, soft); len(next) > 0 {
			return next
		}
		if m.cleanedUp(evictions) {
			return nil
		}
	}
	return nil
}

// pause waits while an eviction is in progress, for d or done. When that is soft and a pass falls due or
// is asked for, it makes one and returns the hard evictions that it finds.
func (m *Manager) pause(ctx context.Context, d time.Duration, done <-chan struct{}, soft bool) []Eviction {
	if soft {
		d = min(d, m.nextPass.Sub(m.config.Clock.Now()))
	}
	woken := m.sleep(ctx, d, done, soft)
	now := m.config.Clock.Now()
	if !soft || !woken && now.Before(m.nextPass) {
		return nil
	}
	m.nextPass = now.Add(m.config.MonitoringPeriod)
	return m.pass(ctx, true)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (m *Manager) cleanedUp(evictions []Eviction) bool {
	for _, e := range evictions {
		if !m.clients.Killer.CleanedUp(e.Pod) {
			return false
		}
	}
	return true
}

// sleep waits for a time, for done, for the end of the context or, where that counts, for a notification;
// it says whether one came.
func (m *Manager) sleep(ctx context.Context, d time.Duration, done <-chan struct{}, notified bool) bool {
	wake := m.wake
	if !notified {
		wake = nil
	}
	timer := m.config.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
		return true
	case <-ctx.Done():
	case <-done:
	case <-timer.C():
	}
	return false
}

func (m *Manager) tell(d Decision) {
	if m.config.OnDecision != nil {
		m.config.OnDecision(d)
	}
}

func (m *Manager) report(err error) {
	if m.config.OnError != nil {
		m.config.OnError(err)
	}
}
