package nodepressure_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
	"github.com/evictkit/evictkit/internal/clockcases"
)

// stepped is a manager that is stepped on a world, with a clock that the test moves.
type stepped struct {
	t       *testing.T
	world   *world
	clock   *clocktesting.FakeClock
	machine *Machine
	manager *Manager
	next    time.Time
}

func newStepped(t *testing.T, config Config, change func(*world, *Clients, *ManagerConfig)) *stepped {
	t.Helper()
	s := &stepped{t: t, clock: clocktesting.NewFakeClock(epoch)}
	s.world = newWorld(s.clock)
	clients := Clients{StatsProvider: s.world, Reclaimer: s.world, Killer: s.world}
	managing := DefaultManagerConfig()
	managing.Clock = s.clock
	managing.OnError = func(err error) { s.world.note("error: %s", err) }
	if change != nil {
		change(s.world, &clients, &managing)
	}
	config.Clock = managing.Clock
	machine, err := New(config)
	require.NoError(t, err)
	s.machine = machine
	s.manager, err = NewManager(machine, clients, managing)
	require.NoError(t, err)
	return s
}

// step makes one Step, which must ask for a later one.
func (s *stepped) step() {
	s.t.Helper()
	next, err := s.manager.Step(context.Background())
	require.NoError(s.t, err)
	require.True(s.t, next.After(s.clock.Now()), "next %s", next)
	s.next = next
}

// until steps when asked to, until that much time has passed.
func (s *stepped) until(d time.Duration) {
	s.t.Helper()
	end := s.world.began.Add(d)
	for s.step(); !s.next.After(end); s.step() {
		s.clock.SetTime(s.next)
	}
	s.clock.SetTime(end)
}

// TestStepDoesWhatRunDoes: it makes passes, kills, waits and goes on.
func TestStepDoesWhatRunDoes(t *testing.T) {
	s := newStepped(t, hardMemory, func(w *world, _ *Clients, _ *ManagerConfig) { w.cleanup = 2500 * time.Millisecond })
	s.until(5 * time.Second)
	require.Equal(t, epoch.Add(10*time.Second), s.next)
	s.world.set(0)
	s.until(14 * time.Second)
	s.world.set(1000)
	s.until(time.Minute)
	require.Equal(t, []string{"10s kill a 1s", "13s kill a 1s"}, s.world.log)
}

// TestStepTooEarlyDoesNothing, and returns the same instant again.
func TestStepTooEarlyDoesNothing(t *testing.T) {
	passes := 0
	s := newStepped(t, hardMemory, func(w *world, c *Clients, _ *ManagerConfig) {
		c.StatsProvider = statsFunc(func(ctx context.Context) (Stats, error) { passes++; return w.Stats(ctx) })
	})
	s.step()
	s.clock.Step(9 * time.Second)
	s.step()
	require.Equal(t, 1, passes)
	require.Equal(t, epoch.Add(10*time.Second), s.next)
	s.manager.Notify()
	s.manager.Notify()
	s.step()
	require.Equal(t, 2, passes, "but when it is notified")
	require.Equal(t, epoch.Add(19*time.Second), s.next)
	s.step()
	require.Equal(t, 2, passes)
}

type statsFunc func(context.Context) (Stats, error)

func (f statsFunc) Stats(ctx context.Context) (Stats, error) { return f(ctx) }

// TestStepThatIsNotifiedByItsOwnPassEnds: it serves one notification, and the next Step serves the next.
func TestStepThatIsNotifiedByItsOwnPassEnds(t *testing.T) {
	passes := 0
	var s *stepped
	s = newStepped(t, hardMemory, func(w *world, c *Clients, _ *ManagerConfig) {
		c.StatsProvider = statsFunc(func(ctx context.Context) (Stats, error) { passes++; s.manager.Notify(); return w.Stats(ctx) })
	})
	s.step()
	require.Equal(t, 2, passes)
	s.step()
	require.Equal(t, 3, passes)
}

// TestStepBesideAnother is refused, and so is Run.
func TestStepBesideAnother(t *testing.T) {
	var step, run error
	var s *stepped
	s = newStepped(t, hardMemory, func(w *world, c *Clients, _ *ManagerConfig) {
		c.StatsProvider = statsFunc(func(ctx context.Context) (Stats, error) {
			_, step = s.manager.Step(ctx)
			run = s.manager.Run(ctx)
			return w.Stats(ctx)
		})
	})
	s.step()
	require.ErrorIs(t, step, ErrRunning)
	require.ErrorIs(t, run, ErrRunning)
}

// TestStepAfterTheEnd does nothing. If the end comes during a Step, no further pod is killed.
func TestStepAfterTheEnd(t *testing.T) {
	cause := errors.New("over")
	ctx, end := context.WithCancelCause(context.Background())
	s := newStepped(t, Config{LocalStorageLimits: true}, func(w *world, _ *Clients, _ *ManagerConfig) {
		w.aboveLimits()
		w.onKill = func(context.Context, Eviction) { end(cause) }
	})
	_, err := s.manager.Step(ctx)
	require.ErrorIs(t, err, cause)
	require.Equal(t, []string{"0s kill a 1s"}, s.world.log)
	_, err = s.manager.Step(ctx)
	require.ErrorIs(t, err, cause)
	require.Len(t, s.world.log, 1)

	s.step()
	require.Equal(t, []string{"0s kill a 1s", "0s kill a 1s", "0s kill b 1s"}, s.world.log, "whoever steps again decides anew")
}

// TestStepWithKillsThatOnlyBegin: CleanedUp says when they are done. A hard eviction replaces a soft one that waits for
// that.
func TestStepWithKillsThatOnlyBegin(t *testing.T) {
	config := thresholds(softly(MemoryAvailable, "200", time.Second), hardly(MemoryAvailable, "100"))
	s := newStepped(t, config, func(w *world, _ *Clients, _ *ManagerConfig) { w.left, w.cleanup = 150, 29*time.Second })
	s.until(25 * time.Second)
	s.world.set(50)
	s.until(45 * time.Second)
	s.world.set(1000)
	s.until(time.Minute)
	require.Equal(t, []string{"10s kill a 5s", "30s kill a 1s"}, s.world.log)
}

// TestStepWithKillsThatDoNotReturnNormally: they count as failed.
func TestStepWithKillsThatDoNotReturnNormally(t *testing.T) {
	for name, end := range map[string]func(){"panic: no such pod\n": func() { panic("no such pod") }, "runtime.Goexit was called": runtime.Goexit} {
		s := newStepped(t, hardMemory, func(w *world, _ *Clients, _ *ManagerConfig) {
			w.left = 0
			w.onKill = func(context.Context, Eviction) { end() }
		})
		over := make(chan struct{})
		go func() { // runtime.Goexit ends the goroutine that steps
			defer close(over)
			_, _ = s.manager.Step(context.Background())
		}()
		<-over
		s.step()
		require.Len(t, s.world.log, 2)
		require.Contains(t, s.world.log[1], "0s error: nodepressure: killing pod default/a: "+name)
		require.Equal(t, epoch.Add(time.Second), s.next, "its clean-up is waited for")
	}
}

// TestSteppedKillThatTakesLongIsWaitedFor: Step waits for Kill, so nothing is given up.
func TestSteppedKillThatTakesLongIsWaitedFor(t *testing.T) {
	var s *stepped
	s = newStepped(t, hardMemory, func(w *world, _ *Clients, _ *ManagerConfig) {
		w.left = 0
		w.onKill = func(context.Context, Eviction) { s.clock.Step(time.Minute); w.set(1000) }
	})
	s.until(2 * time.Minute)
	require.Equal(t, []string{"0s kill a 1s"}, s.world.log)
}

// TestWallIsSetUnderAManager: its passes and cleanups come when their time has passed.
func TestWallIsSetUnderAManager(t *testing.T) {
	for _, one := range clockcases.Cases() {
		if !one.Monotonic && one.Set > 0 {
			continue // forward counts as time passed
		}
		t.Run(one.String(), func(t *testing.T) {
			now := one.Clock()
			s := newStepped(t, hardMemory, func(w *world, c *Clients, m *ManagerConfig) {
				w.clock, w.cleanup = now, 25*time.Hour
				c.StatsProvider = statsFunc(func(context.Context) (Stats, error) {
					return Stats{Pods: w.pods, Signals: map[Signal]Sample{MemoryAvailable: {Available: w.left}}}, nil
				})
				m.Clock = now
			})
			// step says when the next one is due.
			step := func(after time.Duration) time.Duration {
				now.Pass(after)
				next, err := s.manager.Step(context.Background())
				require.NoError(t, err)
				return next.Round(0).Sub(now.Now().Round(0))
			}
			// set sets the wall clock after that much time, which is lost on a clock without monotonic readings.
			set := func(after time.Duration) time.Duration {
				now.Set(one.Set)
				left := step(after)
				if !one.Monotonic {
					left -= after
				}
				return left
			}
			require.Equal(t, 10*time.Second, step(0))
			require.Equal(t, 6*time.Second, set(4*time.Second))
			s.world.left = 0
			left := step(0)
			require.Equal(t, time.Duration(1), step(left-1))
			require.Empty(t, s.world.log)
			require.Equal(t, time.Second, step(1), "its clean-up is looked for after a second")
			require.Len(t, s.world.log, 1)
			require.Equal(t, time.Second/4, set(3*time.Second/4))
			for range 100 { // the cleanup is given up after 30s
				step(time.Second)
			}
			require.Len(t, s.world.log, 4, s.world.log)
		})
	}
}
