package nodepressure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/steady"
)

// Manager drives a Machine: it measures every MonitoringPeriod, reclaims, kills one pod at a time and
// waits until that has given back what it used. While a pod has its time to shut down, and while a Kill
// hangs, it goes on to measure, so that conditions and admission follow the node.
//
// Notify may be called from anywhere at any time, Run and Step one at a time.
type Manager struct {
	machine *Machine
	clients Clients
	config  ManagerConfig
	wake    chan struct{} // a notification that no pass has followed yet
	ended   chan struct{} // a Kill has returned
	running atomic.Bool

	// The rest belongs to the Run or Step that is running.
	time     steady.Time
	woken    bool      // a notification was taken from wake
	nextPass int64     // while passes are made
	progress *progress // nil when nobody is evicted
	kills    []*kill   // that have not returned, at most one of a pod
}

// NewManager returns a manager that does nothing until Run or Step, or the faults of the configuration.
// The machine should have the same clock.
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
	return &Manager{machine: machine, clients: clients, config: config, wake: make(chan struct{}, 1), ended: make(chan struct{}, 1)}, nil
}

// Notify makes the next pass come at once, as when the kernel says that memory has run low. It never
// blocks, may be called from anywhere, and is remembered while Run is busy or not yet called. A hard
// eviction in progress is not interrupted. Who calls Step calls it after Notify.
func (m *Manager) Notify() {
	select {
	case m.wake <- struct{}{}:
	default: // one is remembered already
	}
}

// Run does what Step does, when it is due, until the context ends. Kills run beside it, each on a goroutine
// of its own. It returns the context's cause, after every Kill has returned.
func (m *Manager) Run(ctx context.Context) error {
	if !m.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer m.running.Store(false)
	defer m.stopKills()
	defer m.forget()
	for ctx.Err() == nil {
		m.wait(ctx, m.step(ctx, func(kill func()) { go kill() }))
	}
	return context.Cause(ctx)
}

// Step does everything that is due, in line and in order, and returns when it wants to be called again. It
// is Run for those who have a loop of their own, or a simulation. Called earlier it does nothing, unless
// Notify was called. Of a Kill it waits for the return, see Killer.
//
// The error is ErrRunning beside another Run or Step, or the cause of the end of the context. After that, as
// after Run, an eviction in progress is forgotten, and what comes next begins with a pass.
func (m *Manager) Step(ctx context.Context) (next time.Time, err error) {
	if !m.running.CompareAndSwap(false, true) {
		return time.Time{}, ErrRunning
	}
	defer m.running.Store(false)
	at := m.step(ctx, func(kill func()) { kill() })
	if ctx.Err() != nil {
		m.forget()
		return time.Time{}, context.Cause(ctx)
	}
	return m.time.Instant(at), nil
}

// step does what is due, calls Kill by start, and returns when it is to be called again. One notification
// is served at most, so that it ends.
func (m *Manager) step(ctx context.Context, start func(kill func())) int64 {
	served := false
	for ctx.Err() == nil {
		m.collectKills()
		now := m.now()
		switch {
		case m.progress != nil && m.advance(ctx, now, start):
		case m.passes() && now >= m.nextPass:
			m.pass(ctx)
		case !served && m.notified():
			served = true
			m.pass(ctx)
		default:
			return m.next()
		}
	}
	return m.time.Elapsed()
}

// forget is for the end: whoever goes on later decides anew, because what was decided may not be true any more.
func (m *Manager) forget() { m.progress, m.nextPass = nil, m.time.Elapsed() }

// now reads the clock.
func (m *Manager) now() int64 { return m.time.Read(m.config.Clock.Now()) }

// passes says whether passes are made: the kubelet makes none while it evicts. We make some beside a soft
// eviction, for a hard one to take its place, and as long as a Kill has not returned.
func (m *Manager) passes() bool {
	return m.progress == nil || m.progress.soft || len(m.kills) > 0
}

// notifiable says whether a notification is to be followed by a pass; a hard eviction is not disturbed.
func (m *Manager) notifiable() bool { return m.progress == nil || m.progress.soft }

// notified takes a notification, if there is one that may be served now.
func (m *Manager) notified() bool {
	if !m.notifiable() {
		return false
	}
	if m.woken {
		m.woken = false
		return true
	}
	select {
	case <-m.wake:
		return true
	default:
		return false
	}
}

// next is when something will be due.
func (m *Manager) next() int64 {
	next := int64(math.MaxInt64)
	if m.passes() {
		next = m.nextPass
	}
	if m.progress != nil {
		next = min(next, m.progress.next())
	}
	return next
}

// wait waits until then, or for a notification, the return of a Kill or the end of the context.
func (m *Manager) wait(ctx context.Context, next int64) {
	left := steady.Sub(next, m.now())
	if left <= 0 {
		return
	}
	wake := m.wake
	if !m.notifiable() {
		wake = nil
	}
	timer := m.config.Clock.NewTimer(time.Duration(left))
	defer timer.Stop()
	select {
	case <-wake:
		m.woken = true
	case <-ctx.Done():
	case <-m.ended:
	case <-timer.C():
	}
}
