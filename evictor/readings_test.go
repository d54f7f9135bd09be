package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// countingClock counts how often it is read.
type countingClock struct {
	clock.PassiveClock
	readings int
}

func (c *countingClock) Now() time.Time {
	c.readings++
	return c.PassiveClock.Now()
}

func (c *countingClock) Since(t time.Time) time.Duration {
	c.readings++
	return c.PassiveClock.Since(t)
}

// A Step that finds nothing to do reads the clock once for what is due, and once more for when to be called again.
func TestReadingsOfTheClock(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		for _, taints := range []bool{true, false} {
			t.Run(fmt.Sprintf("period %s taints %t", period, taints), func(t *testing.T) {
				cfg := config()
				cfg.NodeMonitorPeriod, cfg.TaintBasedEviction, cfg.PodEvictionTimeout = period, taints, 50*time.Second
				c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 3), evictortest.PodsPerNode(2), evictortest.Heartbeats(10*time.Second, 10*time.Second))
				c.AddPod("p", "a-3")
				read := &countingClock{PassiveClock: c.Clock()}
				passes, failed, inStep := 0, 0, 0
				options := evictor.Options{
					Clock: read,
					// Permissions cost no readings of their own, refused or granted.
					MayHarm: func() error { return nil }, MayWrite: func() error { return nil }, MayHarmIn: func(zone.Key) error { return nil },
					OnPass: func(time.Duration) {
						passes++
						inStep++
					},
					Observer: evictor.ObserverFunc(func(d evictor.Decision) {
						if d.Kind == evictor.NodeVerdict && d.To != v1.ConditionTrue {
							failed++
						}
					}),
				}
				e, err := evictor.New(cfg, c.Clients(), options)
				require.NoError(t, err)
				c.Feed(e)
				idle := 0
				c.Drive(func(ctx context.Context) (time.Time, error) {
					next, err := e.Step(ctx)
					require.NoError(t, err)
					if !next.IsZero() && !next.After(c.Clock().Now()) {
						return next, nil
					}
					at := read.readings
					inStep = 0
					_, err = e.Step(ctx)
					require.NoError(t, err)
					if inStep == 0 { // exact passes go on while nodes wait for something
						require.LessOrEqual(t, read.readings-at, 2)
						idle++
					}
					return next, err
				})
				c.Advance(30 * time.Second)
				c.Fail("a-0")
				c.Taint("a-3", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
				c.Advance(2 * time.Minute)
				e.Pause("upgrade")
				c.Fail("a-1", "a-2", "a-3", "b-0", "b-1", "b-2")
				c.Advance(time.Minute)
				require.True(t, e.AllZonesDown())
				e.Resume("upgrade")
				c.Recover("a-0", "b-0")
				c.Advance(2 * time.Minute)
				e.SetObserverHealth(errors.New("blind"))
				c.Advance(30 * time.Second)
				e.SetObserverHealth(nil)
				c.Advance(10 * time.Minute)
				require.Greater(t, passes, 10)
				require.Greater(t, idle, 10)
				require.Equal(t, 7, failed)
				require.NotEmpty(t, c.Evicted())
			})
		}
	}
}

// readStore counts how often a node is read.
type readStore struct {
	evictor.NodeStore
	reads atomic.Int64
}

func (s *readStore) Node(name string) (*v1.Node, bool) {
	s.reads.Add(1)
	return s.NodeStore.Node(name)
}

// large returns an evictor that knows that many nodes.
func large(t testing.TB, nodes int) (*evictor.Evictor, *readStore, *evictortest.Cluster) {
	c := evictortest.New(t, evictortest.Zone("a", nodes/2), evictortest.Zone("b", nodes/2))
	clients := c.Clients()
	store := &readStore{NodeStore: clients.Nodes}
	clients.Nodes = store
	e, err := evictor.New(config(), clients, evictor.Options{Clock: c.Clock(), MayHarm: func() error { return nil }})
	require.NoError(t, err)
	c.Feed(e)
	for range 2 {
		_, err = e.Step(context.Background())
		require.NoError(t, err)
		c.Clock().Step(time.Second)
	}
	return e, store, c
}

// When permissions change, nodes that wait for none are not read.
func TestPermissionsThatChangeReadNoNodeThatWaitsForNone(t *testing.T) {
	e, store, _ := large(t, 40)
	for name, do := range map[string]func(){
		"kick": e.Kick, "pause": func() { e.Pause("upgrade") }, "resume": func() { e.Resume("upgrade") },
	} {
		before := store.reads.Load()
		do()
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Equal(t, before, store.reads.Load(), name)
	}
}

func BenchmarkPermissions(b *testing.B) {
	e, _, _ := large(b, 100_000)
	step := func() {
		if _, err := e.Step(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("Kick", func(b *testing.B) {
		for range b.N {
			e.Kick()
		}
	})
	b.Run("Kick+Step", func(b *testing.B) {
		for range b.N {
			e.Kick()
			step()
		}
	})
	b.Run("Pause+Resume", func(b *testing.B) {
		for range b.N {
			e.Pause("upgrade")
			e.Resume("upgrade")
		}
	})
	b.Run("Pause+Step+Resume+Step", func(b *testing.B) {
		for range b.N {
			e.Pause("upgrade")
			step()
			e.Resume("upgrade")
			step()
		}
	})
}
