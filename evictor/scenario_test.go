package evictor_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// config is the default one with the grace period of scenario files.
func config() evictor.Config {
	c := evictor.DefaultConfig()
	c.Nodes.NodeMonitorGracePeriod = 40 * time.Second
	return c
}

// onBothGrids returns cfg with verdicts at their deadlines, and with verdicts at passes.
func onBothGrids(cfg evictor.Config) []evictor.Config {
	exact := cfg
	exact.Nodes.NodeMonitorPeriod = 0
	return []evictor.Config{exact, cfg}
}

// withoutTaints returns cfg for nodes that are emptied when they have been failed for that long.
func withoutTaints(cfg evictor.Config, timeout time.Duration) evictor.Config {
	cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = false, timeout
	return cfg
}

// inBothModes returns cfg, and cfg without taints.
func inBothModes(cfg evictor.Config, timeout time.Duration) []evictor.Config {
	return []evictor.Config{cfg, withoutTaints(cfg, timeout)}
}

// startWith starts an evictor with other clients than the cluster's own. Advance steps it as it does after Start.
func startWith(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, clients evictor.Clients, options evictor.Options) *tested {
	t.Helper()
	options.Clock = c.Clock()
	e, err := newTested(cfg, clients, options)
	require.NoError(t, err)
	c.Drive(e.Step)
	return e
}

// onWrites calls fault for every write of that kind.
func onWrites(c *evictortest.Cluster, kind string, fault func(object string) error) {
	c.FailWrites(func(write, object string) error {
		if write == kind {
			return fault(object)
		}
		return nil
	})
}

// forbid makes all writes of that kind fail.
func forbid(c *evictortest.Cluster, kind string) {
	onWrites(c, kind, func(string) error { return errors.New("forbidden") })
}

// diary is an observer that notes everything.
type diary struct {
	mu  sync.Mutex
	all []decision
}

func (d *diary) ObserveNode(one evictor.NodeDecision) { observe(d.note).ObserveNode(one) }
func (d *diary) ObservePod(one evictor.PodDecision)   { observe(d.note).ObservePod(one) }

func (d *diary) note(decision decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, decision)
}

// of returns the decisions of that kind, about that node or pod if there is one.
func (d *diary) of(kind kind, about ...string) (found []decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, decision := range d.all {
		name := cmp.Or(decision.Pod.Name, decision.Node)
		if decision.Kind == kind && (len(about) == 0 || about[0] == name) {
			found = append(found, decision)
		}
	}
	return found
}

// reasons returns which nodes or pods these decisions are about, with their reasons.
func (d *diary) reasons(kind kind) (found []string) {
	for _, decision := range d.of(kind) {
		found = append(found, cmp.Or(decision.Pod.Name, decision.Node)+" "+decision.Reason)
	}
	return found
}

// says returns the lines of the timeline that contain all of the words, reduced to t.
func says(c *evictortest.Cluster, words ...string) (found []string) {
next:
	for _, line := range c.Timeline() {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

func times(lines []string) (ts []string) {
	for _, l := range lines {
		t, _, _ := strings.Cut(strings.TrimPrefix(l, `{"t":`), ",")
		ts = append(ts, t)
	}
	return ts
}

func TestTaintsFollowTheRateAndPodsTheirTolerations(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(1))
	start(c, config())
	c.Advance(2 * time.Minute)
	c.Fail("a-0", "a-1", "a-2")
	c.Advance(10 * time.Minute)
	// Its last renewal was the one due at 120, noted at the pass of 120; it is silent only after 160.
	require.Equal(t, []string{"165.000", "165.000", "165.000"}, times(says(c, `"condition"`, `"Ready"`)))
	require.Equal(t, []string{"165.000", "175.000", "185.000"}, times(says(c, "NoExecute", "add")))
	require.Equal(t, []string{"165.000", "165.000", "165.000"}, times(says(c, "NoSchedule", "add")))
	require.Equal(t, []string{"465.000", "475.000", "485.000"}, times(says(c, `"evict"`)))
	require.Empty(t, c.EvictedFrom("b-0"))
}

func TestRecoveryCancelsAndLiftsInOneWrite(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	start(c, config())
	c.Fail("a-0")
	c.Advance(3 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	writes := 0
	c.FailWrites(func(write, object string) error {
		if write == "taints" {
			writes++
		}
		return nil
	})
	c.Advance(2 * time.Second)
	c.Recover("a-0")
	c.Advance(10 * time.Minute)
	require.Equal(t, 1, writes)
	require.Equal(t, []string{"185.000", "185.000"}, times(says(c, `"cancel"`)))
	require.Equal(t, []string{"185.000", "185.000"}, times(says(c, "remove")))
	require.Empty(t, c.Evicted())
	require.Empty(t, c.Taints("a-0"))
}

func TestNothingLeavesBetweenTheReportAndThePass(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1), evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 97)))
	start(c, config())
	c.Fail("a-0") // tainted at 45, due at 142
	c.Advance(141 * time.Second)
	c.Recover("a-0") // noted at 145
	c.Advance(time.Minute)
	require.Empty(t, c.Evicted())
	require.Equal(t, []string{"145.000"}, times(says(c, `"cancel"`)))
}

func TestWithoutTaints(t *testing.T) {
	cfg := config()
	cfg.Nodes.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 1), evictortest.PodsPerNode(1))
	start(c, cfg)
	c.Fail("a-0", "a-1")
	c.Advance(10 * time.Minute)
	require.Empty(t, says(c, "NoExecute"))
	require.Equal(t, []string{"305.000", "315.000"}, times(says(c, `"evict"`)))
	c.AddPod("late", "a-0")
	c.Advance(time.Second)
	require.Equal(t, []string{"a-0-p0", "a-1-p0", "late"}, c.Evicted(), "what is bound to an emptied node goes at once")
}

// What is bound to an emptied node while it is held goes as soon as it is not.
func TestPodThatComesWhileItsEmptiedNodeIsHeldGoesAfterwards(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	e := start(c, withoutTaints(config(), 5*time.Minute))
	c.Fail("a-0")
	c.Advance(6 * time.Minute)
	e.Nodes().Hold("a-0", "repair")
	c.Advance(10 * time.Second)
	c.AddPod("late", "a-0")
	c.Advance(time.Minute)
	require.Empty(t, c.Evicted())
	e.Nodes().Release("a-0")
	c.Advance(10 * time.Second)
	require.Equal(t, []string{"late"}, c.Evicted())
}

func TestForeignTaints(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.AddPod("none", "a-0")
	c.AddPod("short", "a-0", evictortest.TolerateFor("maintenance", 30))
	c.AddPod("long", "a-0", evictortest.TolerateFor("maintenance", 300))
	start(c, config())
	c.Advance(time.Minute)
	c.Taint("a-0", v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.Equal(t, []string{"60.000", "90.000"}, times(says(c, `"evict"`)))
	c.AddPod("later", "a-0", evictortest.TolerateFor("maintenance", 30))
	c.Advance(time.Minute)
	require.Equal(t, []string{"none", "short", "later"}, c.Evicted())
	require.Equal(t, []string{"60.000", "90.000", "150.000"}, times(says(c, `"evict"`)), "a toleration runs from the binding")
	c.Untaint("a-0", "maintenance", v1.TaintEffectNoExecute)
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"180.000"}, times(says(c, `"cancel"`, "long")))
	require.Len(t, c.Evicted(), 3)
}

func TestSwapIsOneOutage(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, config())
	c.Advance(50 * time.Second)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse) // after the pass of 50: noted and tainted at 55, due at 355
	c.Advance(10 * time.Second)
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"355.000"}, times(says(c, `"evict"`)))
	require.Len(t, says(c, "not-ready", "NoExecute", "remove"), 1)
	require.Equal(t, []string{"105.000"}, times(says(c, "unreachable", "NoExecute", "add")))
}

func TestRecreatedNodeAndPodAreOthers(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, config())
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	c.DeleteNode("a-0")
	c.AddNode("a-0", zone.Key{Zone: "a"})
	c.AddPod("a-0-p0", "a-0")
	c.Advance(20 * time.Minute)
	require.Empty(t, c.Evicted())
	require.Empty(t, says(c, `"cancel"`), "its pod went away with it")
}

// A pod that is made under its name in the very instant in which another one goes is due when its own time has come.
func TestAPodThatTakesANameIsDueItself(t *testing.T) {
	for lasts, due := range map[int64]time.Duration{60: time.Minute, 900: 15 * time.Minute} { // the one before tolerated 5 minutes
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		start(c, config())
		c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
		c.Advance(2 * time.Minute)
		require.True(t, c.HasNoExecute("a-0"))
		c.DeletePod("a-0-p0")
		c.AddPod("a-0-p0", "a-0", v1.Toleration{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &lasts})
		c.Advance(due - time.Second)
		require.Empty(t, c.Evicted(), lasts)
		c.Advance(2 * time.Second)
		require.Equal(t, []string{"a-0-p0"}, c.Evicted(), lasts)
	}
}

func TestPauseHoldsHarmAndNotRecovery(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 4), evictortest.PodsPerNode(1))
	e := start(c, config())
	c.Fail("a-0", "a-1", "b-0")
	c.Advance(2 * time.Minute)
	e.Pause("maintenance")
	require.Equal(t, []string{"maintenance"}, e.Paused())
	c.Recover("b-0")
	c.Fail("b-1")
	c.Advance(10 * time.Minute)
	require.False(t, c.HasNoExecute("b-0"), "lifted while paused")
	require.False(t, c.HasNoExecute("b-1"))
	require.Empty(t, c.Evicted())
	require.True(t, e.Resume("maintenance"))
	c.Advance(time.Second)
	require.Len(t, c.Evicted(), 1, "what is overdue leaves node by node")
	c.Advance(10 * time.Second)
	require.Len(t, c.Evicted(), 2)
	require.True(t, c.HasNoExecute("b-1"))
}

func TestHoldWatchesAndDoesNotTaint(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	e := start(c, config())
	e.Nodes().Hold("a-0", "edge site")
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	closed := []string{"node.kubernetes.io/unreachable:NoSchedule"}
	require.Equal(t, closed, c.Taints("a-0"), "new pods go elsewhere")
	require.NotEmpty(t, says(c, `"condition"`, "a-0"))
	require.Empty(t, c.Evicted())
	e.Nodes().Release("a-0")
	c.Advance(10 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	e.Nodes().Hold("a-0", "edge site")
	c.Advance(10 * time.Second)
	require.Equal(t, closed, c.Taints("a-0"), "holding it lifts what evicts")
}

func TestExactMode(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, cfg)
	c.Advance(33 * time.Second)
	c.Fail("a-0") // renewed last at 30
	c.Advance(10 * time.Minute)
	require.Equal(t, []string{"70.000"}, times(says(c, "NoExecute", "add")))
	require.Equal(t, []string{"370.000"}, times(says(c, `"evict"`)))
	c.Recover("a-0")
	c.Advance(0)
	require.Equal(t, []string{"633.000"}, times(says(c, "NoExecute", "remove")), "at once")
}

func TestCordon(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 1))
	start(c, config())
	c.Advance(time.Second)
	c.Cordon("a-0", true)
	c.Advance(0)
	require.Equal(t, []string{"node.kubernetes.io/unschedulable:NoSchedule"}, c.Taints("a-0"))
	c.Cordon("a-0", false)
	c.Advance(0)
	require.Empty(t, c.Taints("a-0"))
}

// A clock that jumps ahead condemns nobody, however long a node had been silent before: all heartbeat clocks restart.
func TestClockThatJumpsForwardCondemnsNobody(t *testing.T) {
	for _, cfg := range onBothGrids(config()) {
		for silent := 1; silent < 40; silent++ {
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.Zone("b", 3), evictortest.PodsPerNode(1))
			e := start(c, cfg)
			for range 60 {
				c.Advance(time.Second)
			}
			c.Fail("a-0")
			for range silent {
				c.Advance(time.Second)
			}
			c.Clock().Step(24 * time.Hour)
			for second := range 19 { // 10 seconds of the leap count, and everybody has renewed in the 10 before it
				_, err := e.Step(context.Background())
				require.NoError(t, err)
				for _, line := range says(c, "Unknown") {
					require.Contains(t, line, `"a-0"`, silent)
					require.GreaterOrEqual(t, silent+10+10+second, 40)
				}
				c.Clock().Step(time.Second)
			}
		}
	}
}

// Without taints there is no wait for the store: a node that soon fails again is emptied on time.
func TestNodeThatFailsAgainIsEmptiedInTimeInExactMode(t *testing.T) {
	cfg := withoutTaints(config(), 10*time.Second)
	cfg.Nodes.NodeMonitorPeriod, cfg.Nodes.NodeEvictionRate = 0, 1
	c := evictortest.New(t, evictortest.Zone("a", 3))
	start(c, cfg)
	c.Advance(time.Minute)
	c.AddPod("one", "a-0")
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(11 * time.Second)
	require.Equal(t, []string{"one"}, c.Evicted())
	c.Condition("a-0", v1.NodeReady, v1.ConditionTrue)
	c.Advance(time.Second)
	c.AddPod("two", "a-0")
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(time.Minute)
	require.Equal(t, []string{"70.000", "82.000"}, times(says(c, `"evict"`)))
}

// A node waits for a grace period after its heartbeat clock restarted, and reports not Ready meanwhile: it waits no longer.
func TestGraceOfANodeThatSpeaksEndsInTimeInExactMode(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.AddPod("p", "a-0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 50), evictortest.TolerateFor(v1.TaintNodeNotReady, 50))
	e := start(c, cfg)
	c.Fail("a-0")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	e.SetObserverHealth(errors.New("blind"))
	e.SetObserverHealth(nil)
	c.Advance(20 * time.Second)
	c.Recover("a-0")
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"90.000"}, times(says(c, `"evict"`)))
}

// A node that reports not Ready is settled at its first sign of life after a start, and not only when some deadline passes.
func TestNodeThatSaysItIsNotReadySettlesInTimeInExactMode(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	start(c, cfg)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse) // tainted at once, so that its pod is due at 300
	c.Advance(293 * time.Second)
	c.Restart()
	c.Advance(5 * time.Second)
	require.Empty(t, c.Evicted())
	c.Condition("a-0", v1.NodeMemoryPressure, v1.ConditionTrue)
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"300.000"}, times(says(c, `"evict"`)))
}

// After a gap in which nobody listened, a node that reports not Ready waits for one more grace period, and no Step asks
// to be called at once meanwhile.
func TestNodeThatSaysItIsNotReadyWaitsAfterAGapInExactMode(t *testing.T) {
	cfg := config()
	cfg.Nodes.NodeMonitorPeriod = 0
	c := evictortest.New(t, evictortest.Zone("a", 3))
	e := start(c, cfg)
	c.Condition("a-0", v1.NodeReady, v1.ConditionFalse)
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	c.Clock().Step(10 * time.Minute)
	next, err := e.Step(context.Background())
	require.NoError(t, err)
	require.True(t, next.After(c.Clock().Now()), "%v at %v", next, c.Clock().Now())
	require.Empty(t, says(c, "Unknown"))
}

// byHand is an evictor with the test's own clients, stepped every second.
type byHand struct {
	t *testing.T
	c *evictortest.Cluster
	e *tested
}

func stepped(t *testing.T, c *evictortest.Cluster, cfg evictor.Config, clients evictor.Clients, options ...evictor.Options) byHand {
	options = append(options, evictor.Options{})
	options[0].Clock = c.Clock()
	e, err := newTested(cfg, clients, options[0])
	require.NoError(t, err)
	return byHand{t, c, e}
}

func (b byHand) step() {
	next, err := b.e.Step(context.Background())
	require.NoError(b.t, err)
	require.True(b.t, next.IsZero() || next.After(b.c.Clock().Now()), "it asks to be stepped at once, again and again")
}

func (b byHand) run(d time.Duration) {
	for until := b.c.Clock().Now().Add(d); b.c.Clock().Now().Before(until); b.c.Advance(time.Second) {
		b.step()
	}
}

// shows is a store that shows nodes as the test says.
type shows struct {
	cluster.NodeStore
	as func(name string, node *v1.Node, ok bool) (*v1.Node, bool)
}

func (s *shows) Node(name string) (*v1.Node, bool) {
	node, ok := s.NodeStore.Node(name)
	return s.as(name, node, ok)
}
