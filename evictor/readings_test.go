package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
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

// A Step that finds nothing to do reads the clock a few times, however many nodes there are.
func TestReadingsOfTheClock(t *testing.T) {
	for _, mode := range inBothModes(config(), 50*time.Second) {
		for _, cfg := range onBothGrids(mode) {
			t.Run(fmt.Sprintf("period %s taints %t", cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.TaintBasedEviction), func(t *testing.T) {
				c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 3), evictortest.PodsPerNode(2), evictortest.Heartbeats(10*time.Second, 10*time.Second))
				c.AddPod("p", "a-3")
				read := &countingClock{PassiveClock: c.Clock()}
				passes, inStep := 0, 0
				var told diary
				options := evictor.Options{
					Clock: read,
					// Permissions cost no readings of their own, refused or granted.
					Gate: gate.Func(func(context.Context, gate.Act) error { return nil }),
					Observer: evictor.Observers{&told, evictor.Observe(func(d evictor.NodeDecision) {
						if d.Kind == nodelifecycle.Passed {
							passes++
							inStep++
						}
					}, nil)},
				}
				e, err := newTested(cfg, c.Clients(), options)
				require.NoError(t, err)
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
						require.LessOrEqual(t, read.readings-at, 20)
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
				require.True(t, e.Nodes().AllZonesDown())
				e.Resume("upgrade")
				c.Recover("a-0", "b-0")
				c.Advance(2 * time.Minute)
				e.SetObserverHealth(errors.New("blind"))
				c.Advance(30 * time.Second)
				e.SetObserverHealth(nil)
				c.Advance(10 * time.Minute)
				require.Greater(t, passes, 10)
				require.Greater(t, idle, 10)
				require.Len(t, slices.DeleteFunc(told.of("NodeVerdict"), func(d decision) bool { return d.To == v1.ConditionTrue }), 7)
				require.NotEmpty(t, c.Evicted())
			})
		}
	}
}

// runningClock shows a later time at each reading, as a real clock does.
type runningClock struct {
	clock.PassiveClock
	readings time.Duration // of a nanosecond
}

func (c *runningClock) Now() time.Time {
	c.readings++
	return c.PassiveClock.Now().Add(c.readings)
}

// What is due is done, though the clock has gone on since it was last read.
func TestNoTwoReadingsShowTheSame(t *testing.T) {
	for _, mode := range inBothModes(config(), 50*time.Second) {
		for _, cfg := range onBothGrids(mode) {
			t.Run(fmt.Sprintf("period %s taints %t", cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.TaintBasedEviction), func(t *testing.T) {
				c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 3), evictortest.PodsPerNode(2))
				running := &runningClock{PassiveClock: c.Clock()}
				e, err := newTested(cfg, c.Clients(), evictor.Options{Clock: running})
				require.NoError(t, err)
				c.Drive(func(ctx context.Context) (time.Time, error) {
					next, err := e.Step(ctx)
					if now := c.Clock().Now(); !next.IsZero() && next.Before(now.Add(time.Millisecond)) {
						next = now.Add(time.Millisecond)
					}
					return next, err
				})
				c.Advance(time.Minute)
				c.Fail("a-0", "b-0")
				c.Advance(8 * time.Minute)
				require.ElementsMatch(t, []string{"a-0-p0", "a-0-p1", "b-0-p0", "b-0-p1"}, c.Evicted())
				c.Recover("a-0")
				c.Advance(time.Minute)
				back, _ := c.Clients().Nodes.Node("a-0")
				require.Empty(t, back.Spec.Taints)
			})
		}
	}
}

// large returns an evictor that knows that many nodes, and how often a node was read.
func large(t testing.TB, nodes int) (*tested, *atomic.Int64) {
	c, reads := evictortest.New(t, evictortest.Zone("a", nodes/2), evictortest.Zone("b", nodes/2)), new(atomic.Int64)
	clients := c.Clients()
	clients.Nodes = &shows{clients.Nodes, func(_ string, node *v1.Node, ok bool) (*v1.Node, bool) {
		reads.Add(1)
		return node, ok
	}}
	e, err := newTested(config(), clients, evictor.Options{Clock: c.Clock(), Gate: mayHarm(func() error { return nil })})
	require.NoError(t, err)
	for range 2 {
		_, err = e.Step(context.Background())
		require.NoError(t, err)
		c.Clock().Step(time.Second)
	}
	return e, reads
}

// When permissions change, nodes that wait for none are not read.
func TestPermissionsThatChangeReadNoNodeThatWaitsForNone(t *testing.T) {
	e, reads := large(t, 40)
	for name, do := range map[string]func(){
		"kick": e.Kick, "pause": func() { e.Pause("upgrade") }, "resume": func() { e.Resume("upgrade") },
	} {
		before := reads.Load()
		do()
		_, err := e.Step(context.Background())
		require.NoError(t, err)
		require.Equal(t, before, reads.Load(), name)
	}
}

// setBack is a clock without monotonic readings that shows less than another one.
type setBack struct {
	clock.PassiveClock
	by time.Duration
}

func (b *setBack) Now() time.Time                  { return b.PassiveClock.Now().Add(-b.by) }
func (b *setBack) Since(t time.Time) time.Duration { return b.Now().Sub(t) }
func (b *setBack) decided(d decision) string {
	return d.Time.Add(b.by).Format("15:04:05 ") + string(d.Kind)
}

// When the clock is set back no time has passed, and it counts on from there: everything is done as if it had not been
// set, and reported with the times that the clock shows then.
func TestClockThatGoesBackHoldsNothingUp(t *testing.T) {
	life := func(cfg evictor.Config, back ...time.Duration) (timeline, told []string) {
		tolerations := []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeUnreachable, 60), evictortest.TolerateFor("drain", 90)}
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 3), evictortest.PodsPerNode(2), evictortest.Tolerations(tolerations...))
		clk := &setBack{PassiveClock: c.Clock()}
		closed := error(nil)
		e, err := newTested(cfg, c.Clients(), evictor.Options{Clock: clk, Gate: mayHarm(func() error { return closed }), Observer: observe(func(d decision) {
			if d.Kind != "EvictionDelayed" {
				told = append(told, clk.decided(d))
			}
		})})
		require.NoError(t, err)
		for second := range 700 {
			switch second {
			case 20:
				c.Taint("a-3", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
			case 130:
				c.Fail("a-0", "b-0")
			case 215:
				c.FailWrites(func(write, object string) error { return errors.New("unavailable") })
			case 260:
				c.FailWrites(nil)
				c.Recover("b-0")
			case 400:
				closed = errors.New("closed")
				c.Fail("a-1", "b-1")
			case 550:
				closed = nil
			}
			for i := range 2 { // read before and after it is set, because time between such readings would be lost
				_, err := e.Step(context.Background())
				require.NoError(t, err)
				if i == 0 && len(back) > 0 && (second == 40 || second == 215 || second == 500) {
					clk.by, back = clk.by+back[0], back[1:]
				}
			}
			c.Advance(time.Second)
		}
		return says(c, ""), told
	}
	for _, mode := range inBothModes(config(), 100*time.Second) {
		for _, cfg := range onBothGrids(mode) {
			t.Run(fmt.Sprintf("period %s taints %t", cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.TaintBasedEviction), func(t *testing.T) {
				timeline, told := life(cfg)
				require.Greater(t, len(timeline), 20)
				for _, back := range []time.Duration{time.Second, time.Minute, 2 * time.Hour} {
					gotTimeline, gotTold := life(cfg, back, 2*back, back/3)
					require.Equal(t, strings.Join(timeline, "\n"), strings.Join(gotTimeline, "\n"), back)
					require.Equal(t, strings.Join(told, "\n"), strings.Join(gotTold, "\n"), back)
				}
			})
		}
	}
}

// manyArmed returns an evictor with 150,000 armed evictions and 1,000 waiting nodes.
func manyArmed(tb testing.TB) *tested {
	tb.Helper()
	cluster := evictortest.New(tb, evictortest.Zone("a", 1_500), evictortest.Zone("b", 1), evictortest.Zone("c", 1_000), evictortest.PodsPerNode(100))
	config := evictor.DefaultConfig()
	config.Nodes.NodeEvictionRate = 10_000
	var shut closures
	e := start(cluster, config, evictor.Options{Gate: mayHarmIn(shut.may)})
	shut.evictor = e
	fail := func(zone string, nodes int) {
		for i := range nodes {
			cluster.Fail(fmt.Sprintf("%s-%d", zone, i))
		}
		cluster.Advance(2 * time.Minute)
	}
	fail("a", 1_500)
	shut.set("c", "test")
	fail("c", 1_000)
	return e
}

// TestScrapesAreShort: what metrics read from the evictor holds its lock only briefly.
func TestScrapesAreShort(t *testing.T) {
	if os.Getenv("EVICTKIT_FULL") == "" {
		t.Skip("a large cluster")
	}
	e := manyArmed(t)
	shortest := time.Hour // the shortest of several, because this machine may be busy
	for range 100 {
		began := time.Now()
		zones := e.Nodes().Zones()
		shortest = min(shortest, time.Since(began))
		require.Len(t, zones, 3)
	}
	require.Less(t, shortest, 100*time.Microsecond)
}
