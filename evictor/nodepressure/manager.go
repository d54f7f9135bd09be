package nodepressure

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/internal/absent"
	"github.com/evictkit/evictkit/internal/steady"
)

// Manager drives a Machine, in [Manager.Run] or, for a test or a loop of your own, in [Manager.Step]: it measures every
// MonitoringPeriod, reclaims, kills one pod at a time, and waits until that pod has given back what it used. During a
// soft eviction, and while a Kill hangs, it still measures, so that conditions and admission follow the node.
//
// Notify may be called from any goroutine at any time. Call Run and Step one at a time.
type Manager struct {
	machine *Machine
	clients Clients
	config  ManagerConfig
	wake    chan struct{} // a notification that no pass has followed yet
	ended   chan struct{} // a Kill has returned
	running atomic.Bool

	// The rest is used only by the active Run or Step.
	time       steady.Time
	woken      bool        // a notification was taken from wake and not served
	nextPass   int64       // if passes() is true
	progress   *progress   // nil if no eviction is in progress
	kills      []*kill     // not returned yet, at most one for each pod
	unmeasured []Threshold // of the last measurement
}

// NewManager returns a manager that does nothing until Run or Step, or an error with all faults of the configuration.
// The machine must have the same clock.
func NewManager(machine *Machine, clients Clients, config ManagerConfig) (*Manager, error) {
	errs := config.faults()
	if machine == nil || machine.config.Clock == nil {
		errs = append(errs, field.Required(field.NewPath("machine"), "New makes one"))
	}
	in := field.NewPath("clients")
	if absent.Value(clients.StatsProvider) {
		errs = append(errs, field.Required(in.Child("statsProvider"), "it measures the node, as package summary does"))
	}
	errs = append(errs, absent.Faults(in.Child("reclaimer"), clients.Reclaimer)...)
	if absent.Value(clients.Killer) {
		errs = append(errs, field.Required(in.Child("killer"), "it kills what is chosen"))
	}
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("nodepressure: %w", err)
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if !same(config.Clock, machine.config.Clock) {
		return nil, fmt.Errorf("nodepressure: %w", field.Invalid(field.NewPath("clock"), fmt.Sprintf("%T", config.Clock),
			fmt.Sprintf("must be the clock in the Config of the machine, a %T", machine.config.Clock)))
	}
	return &Manager{machine: machine, clients: clients, config: config, wake: make(chan struct{}, 1), ended: make(chan struct{}, 1)}, nil
}

// same says whether two clocks are one, as far as they can be compared.
func same(a, b clock.PassiveClock) bool {
	kind := reflect.TypeOf(a)
	return kind == reflect.TypeOf(b) && (!kind.Comparable() || a == b)
}

// Notify asks for a pass at once, for example because the kernel signals that memory is low. It never blocks and may be
// called from any goroutine. The manager keeps a notification that comes while Run is busy, or before Run. It does not
// interrupt a hard eviction in progress. If you use Step, call Step after Notify.
func (m *Manager) Notify() {
	select {
	case m.wake <- struct{}{}:
	default: // a signal is pending already
	}
}

// Run does what Step does, whenever it is due, until the context ends. Each Kill runs on its own goroutine. Run waits
// for them and then returns the context's cause. It returns ErrRunning if another Run or Step is active, and an error if
// ctx is nil.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.begin(ctx, "Run"); err != nil {
		return err
	}
	defer m.running.Store(false)
	defer m.stopKills()
	defer m.forget()
	for ctx.Err() == nil {
		m.wait(ctx, m.step(ctx, func(kill func()) { go kill() }))
	}
	return context.Cause(ctx)
}

// Step does everything that is due, in the caller's goroutine, and returns when to call it again. It is for programs
// with their own loop, and for simulations. An earlier call does nothing, except after Notify. Step waits for each Kill
// to return; see Killer.
//
// The error is ErrRunning if another Run or Step is active, or the context's cause. A nil context is an error, too. If
// the context has ended, the manager forgets an eviction in progress, as after Run, and the next Step or Run begins
// with a pass.
func (m *Manager) Step(ctx context.Context) (next time.Time, err error) {
	if err := m.begin(ctx, "Step"); err != nil {
		return time.Time{}, err
	}
	defer m.running.Store(false)
	at := m.step(ctx, func(kill func()) { kill() })
	if ctx.Err() != nil {
		m.forget()
		return time.Time{}, context.Cause(ctx)
	}
	return m.time.Instant(at), nil
}

// begin begins a Run or a Step.
func (m *Manager) begin(ctx context.Context, call string) error {
	switch {
	case m.machine == nil:
		return fmt.Errorf("nodepressure: %s of a zero Manager: make one with NewManager", call)
	case ctx == nil:
		return fmt.Errorf("nodepressure: %s needs a context, not nil", call)
	case !m.running.CompareAndSwap(false, true):
		return ErrRunning
	}
	return nil
}

// step does what is due, passes each call of Kill to start, and returns when to call it again. It serves at most one
// notification, so that it ends.
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

// forget drops the eviction in progress when Run or Step ends. The next one decides anew, because things may have
// changed.
func (m *Manager) forget() { m.progress, m.nextPass = nil, m.time.Elapsed() }

// now reads the clock.
func (m *Manager) now() int64 { return m.time.Read(m.config.Clock.Now()) }

// passes says whether to make passes. The kubelet makes none while it evicts. The Manager makes them during a soft
// eviction, so that a hard one can replace it, and while a Kill has not returned.
func (m *Manager) passes() bool {
	return m.progress == nil || m.progress.soft || len(m.kills) > 0
}

// notifiable says whether a notification leads to a pass. A hard eviction is not interrupted.
func (m *Manager) notifiable() bool { return m.progress == nil || m.progress.soft }

// notified takes a notification, if there is one and it may be served now.
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

// next returns when something will be due.
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

// wait waits until next, a notification, the return of a Kill, or the end of the context.
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
