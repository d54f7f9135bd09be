//go:build go1.25

package nodepressure_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	. "github.com/evictkit/evictkit/evictor/nodepressure"
)

// running is a manager that runs on a world, in the virtual time of a bubble.
type running struct {
	world   *world
	machine *Machine
	manager *Manager
	stop    context.CancelFunc
	done    chan error
}

// prepare makes a manager. change may change its parts before it runs.
func prepare(t *testing.T, config Config, change func(*world, *Clients, *ManagerConfig)) *running {
	t.Helper()
	w := newWorld(clock.RealClock{})
	n := &running{world: w, done: make(chan error, 1)}
	machine, err := New(config)
	require.NoError(t, err)
	n.machine = machine
	clients := Clients{StatsProvider: w, Reclaimer: w, Killer: w}
	managing := DefaultManagerConfig()
	managing.OnError = func(err error) { w.note("error: %s", err) }
	change(w, &clients, &managing)
	n.manager, err = NewManager(machine, clients, managing)
	require.NoError(t, err)
	return n
}

func (n *running) begin() {
	ctx, stop := context.WithCancel(context.Background())
	n.stop = stop
	go func() { n.done <- n.manager.Run(ctx) }()
}

// end waits until Run has returned.
func (n *running) end(t *testing.T) {
	t.Helper()
	synctest.Wait()
	n.stop()
	require.ErrorIs(t, <-n.done, context.Canceled)
}

// runNode runs a manager on a world.
func runNode(t *testing.T, config Config, setup func(*world)) *running {
	t.Helper()
	n := prepare(t, config, func(w *world, _ *Clients, _ *ManagerConfig) { setup(w) })
	n.begin()
	return n
}

// during runs a manager on a world for a while, then calls play, and returns what was done and reported.
func during(t *testing.T, config Config, clients func(*world) Clients, setup func(*world, *Manager), play func(*world, *Manager)) (log []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := prepare(t, config, func(w *world, c *Clients, _ *ManagerConfig) {
			if clients != nil {
				*c = clients(w)
			}
		})
		setup(n.world, n.manager)
		n.begin()
		play(n.world, n.manager)
		n.end(t)
		log = n.world.log
	})
	return log
}

func wait(d time.Duration) func(*world, *Manager) {
	return func(*world, *Manager) { time.Sleep(d) }
}
