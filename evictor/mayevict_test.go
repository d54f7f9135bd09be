package evictor_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// keeper is a program that keeps one pod where it is while err is not nil.
type keeper struct {
	pod   string
	err   error
	clock clock.PassiveClock
	asked []time.Duration // since Epoch, about that pod
	while func()          // called while it is asked
}

func (k *keeper) may(_ context.Context, pod *v1.Pod, _ taints.Deadline) error {
	if pod.Name != k.pod {
		return nil
	}
	k.asked = append(k.asked, k.clock.Now().Sub(evictortest.Epoch))
	if k.while != nil {
		k.while()
	}
	return k.err
}

// harms are the ways in which pods leave a node; each begins to act on it.
var harms = map[string]struct {
	emptied bool
	begin   func(c *evictortest.Cluster, node string)
}{
	"our taint": {false, func(c *evictortest.Cluster, node string) { c.Fail(node) }},
	"a foreign taint": {false, func(c *evictortest.Cluster, node string) {
		c.Taint(node, v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	}},
	"no taint": {true, func(c *evictortest.Cluster, node string) { c.Fail(node) }},
}

func harmed(t *testing.T, test func(t *testing.T, cfg evictor.Config, begin func(c *evictortest.Cluster, node string))) {
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.Nodes.TaintBasedEviction, cfg.Nodes.PodEvictionTimeout = !harm.emptied, time.Minute
			test(t, cfg, harm.begin)
		})
	}
}

// A refusal costs neither a neighbour nor a turn, and the pod leaves at the instant that the program named.
func TestMayEvictRefusesOnePod(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(3))
		at := evictortest.Epoch.Add(30 * time.Minute)
		k := &keeper{clock: c.Clock(), pod: "a-0-p1", err: fmt.Errorf("not now: %w", &gate.Refused{Reason: "office hours", Again: at})}
		e := start(c, cfg, evictor.Options{Gate: mayEvict(k.may)})
		begin(c, "a-0")
		begin(c, "a-1")
		c.Advance(10 * time.Minute)
		require.ElementsMatch(t, []string{"a-0-p0", "a-0-p2", "a-1-p0", "a-1-p1", "a-1-p2"}, c.Evicted())
		require.Len(t, k.asked, 1)
		if armed := e.Pods().Evictions(); cfg.Nodes.TaintBasedEviction || len(armed) > 0 {
			require.Equal(t, at, armed[0].Due)
		}
		require.Len(t, toldOf(e, "default/a-0-p1", held...), 1)
		require.Contains(t, toldOf(e, "default/a-0-p1", held...)[0], "eviction held back: office hours: not now: office hours")

		k.err = nil
		c.Advance(30*time.Minute - c.Clock().Since(evictortest.Epoch) - time.Second)
		require.Len(t, c.Evicted(), 5)
		c.Advance(time.Second)
		require.Len(t, c.Evicted(), 6)
		require.Equal(t, at.Sub(evictortest.Epoch), k.asked[1])
		require.Empty(t, e.Pods().Evictions())
	})
}

// Without a time the delays grow from GateInterval to RetryMax, and what is said again is not reported again.
func TestMayEvictIsAskedLessAndLess(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		cfg.Nodes.GateInterval, cfg.Nodes.RetryMax = time.Second, 8*time.Second
		for _, err := range []error{errors.New("no room"), &gate.Refused{Reason: "no room"}, &gate.Refused{Reason: "no room", Again: evictortest.Epoch}} {
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			k := &keeper{clock: c.Clock(), pod: "a-0-p0", err: err}
			e := start(c, cfg, evictor.Options{Gate: mayEvict(k.may)})
			begin(c, "a-0")
			c.Advance(8 * time.Minute)
			var waits []time.Duration
			for i := range 6 {
				waits = append(waits, k.asked[i+1]-k.asked[i])
			}
			s := time.Second
			require.Equal(t, []time.Duration{s, 2 * s, 4 * s, 8 * s, 8 * s, 8 * s}, waits)
			require.Len(t, toldOf(e, "default/a-0-p0", held...), 1)

			asked := len(k.asked)
			k.err = errors.New("no room at all")
			e.Kick()
			c.Advance(0)
			require.Len(t, k.asked, asked+1, "a kick asks at once")
			require.Len(t, toldOf(e, "default/a-0-p0", held...), 2)
			c.Advance(cfg.Nodes.RetryMax - time.Second)
			require.Len(t, k.asked, asked+1, "and only once")
			k.err = nil
			c.Advance(2 * time.Second)
			require.Equal(t, []string{"a-0-p0"}, c.Evicted())
		}
	})
}

// A time that never comes is no reason to ask all the time; a kick overrules it.
func TestMayEvictMayNameTheEndOfTime(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	k := &keeper{clock: c.Clock(), pod: "a-0-p0", err: &gate.Refused{Reason: "never", Again: time.Unix(1<<60, 0)}}
	e := start(c, config(), evictor.Options{Gate: mayEvict(k.may)})
	c.Fail("a-0")
	c.Advance(24 * time.Hour)
	require.Len(t, k.asked, 1)
	k.err = nil
	e.Kick()
	c.Advance(0)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// A node's first verdict is no recovery, after which a refusal would be reported anew.
func TestFirstVerdictReportsNoRefusalAnew(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(0))
	k := &keeper{clock: c.Clock(), pod: "p", err: errors.New("never")}
	e := start(c, config(), evictor.Options{Gate: mayEvict(k.may)})
	c.Advance(time.Second)
	c.AddNode("late", zone.Key{Zone: "a"})
	c.AddPod("p", "late")
	c.Taint("late", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.Greater(t, len(k.asked), 3)
	require.Len(t, toldOf(e, "default/p", held...), 1)
}

// MayEvict is asked only when nothing else holds the eviction back, and what happens while it is asked is seen.
func TestMayEvictIsAskedLastAndAllIsCheckedAfterIt(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		closed := errors.New("closed")
		for name, brake := range map[string]func(c *evictortest.Cluster, e *tested, write, harm, in *error){
			"leadership": func(_ *evictortest.Cluster, _ *tested, write, _, _ *error) { *write = closed },
			"MayHarm":    func(_ *evictortest.Cluster, _ *tested, _, harm, _ *error) { *harm = closed },
			"MayHarmIn":  func(_ *evictortest.Cluster, _ *tested, _, _, in *error) { *in = closed },
			"a pause":    func(_ *evictortest.Cluster, e *tested, _, _, _ *error) { e.Pause("a drill") },
			"the pod":    func(c *evictortest.Cluster, _ *tested, _, _, _ *error) { c.DeletePod("a-0-p0") },
			"the node":   func(c *evictortest.Cluster, _ *tested, _, _, _ *error) { c.DeleteNode("a-0") },
		} {
			for _, during := range []bool{false, true} {
				var e *tested
				var write, harm, in error
				c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
				k := &keeper{clock: c.Clock(), pod: "a-0-p0"}
				if during {
					k.while = func() { brake(c, e, &write, &harm, &in) }
				}
				e = start(c, cfg, evictor.Options{
					Gate: gate.All(mayEvict(k.may), mayWrite(func() error { return write }), mayHarm(func() error { return harm }), mayHarmIn(func(zone.Key) error { return in })),
				})
				begin(c, "a-0")
				if !during {
					brake(c, e, &write, &harm, &in)
				}
				c.Advance(8 * time.Minute)
				require.Empty(t, c.Evicted(), name)
				require.Equal(t, during, len(k.asked) > 0, name)
			}
		}
	})
}

// A panic refuses, is survived, and is asked again like any refusal.
func TestPanicOfMayEvictRefuses(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	k := &keeper{clock: c.Clock(), pod: "a-0-p0"}
	var none *gate.Refused
	k.while = func() {
		switch len(k.asked) {
		case 1:
			panic("a bug of the program's")
		case 2:
			k.err = none // an error that cannot be printed
		default:
			k.err = nil
		}
	}
	e := start(c, config(), evictor.Options{Gate: mayEvict(k.may), OnPanic: survived})
	c.Fail("a-0")
	c.Advance(8 * time.Minute)
	require.Equal(t, []string{"a-0-p1", "a-0-p0"}, c.Evicted())
	require.Len(t, k.asked, 3)
	require.Contains(t, strings.Join(toldOf(e, "default/a-0-p0", held...), "\n"), "a bug of the program's")
}

// A kick while the program is being asked may tell of something that its answer does not know yet.
func TestKickWhileMayEvictIsAsked(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var e *tested
	k := &keeper{clock: c.Clock(), pod: "a-0-p0", err: &gate.Refused{Reason: "full", Again: evictortest.Epoch.Add(time.Hour)}}
	kicked := false
	may := func(ctx context.Context, pod *v1.Pod, why taints.Deadline) error {
		err := k.may(ctx, pod, why)
		if err != nil && !kicked {
			kicked, k.err = true, nil
			e.Kick()
		}
		return err
	}
	e = start(c, config(), evictor.Options{Gate: mayEvict(may)})
	c.Fail("a-0")
	c.Advance(7 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.Len(t, k.asked, 2)
}

// An eviction that is moved asks no sooner for that. One that is cancelled
// and armed anew is another question.
func TestMayEvictIsNotAskedSoonerBecauseOfNews(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	k := &keeper{clock: c.Clock(), pod: "a-0-p0", err: &gate.Refused{Reason: "later", Again: evictortest.Epoch.Add(time.Hour)}}
	e := start(c, config(), evictor.Options{Gate: mayEvict(k.may)})
	for range 3 {
		c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
		c.Advance(time.Minute)
		c.Taint("a-0", v1.Taint{Key: "j", Effect: v1.TaintEffectNoExecute})
		c.Untaint("a-0", "k", v1.TaintEffectNoExecute)
		c.Advance(time.Minute)
		c.Untaint("a-0", "j", v1.TaintEffectNoExecute)
		c.Advance(time.Minute)
	}
	require.Len(t, k.asked, 3)
	require.Len(t, toldOf(e, "default/a-0-p0", "EvictionCancelled"), 3)
	require.Len(t, toldOf(e, "default/a-0-p0", "EvictionMoved"), 3)
	require.Len(t, toldOf(e, "default/a-0-p0", held...), 3)
}

// A pod that a Gate refuses with Pace for long takes no turns from other nodes of its zone.
func TestWhatIsPacedLetsOthersHaveTheirTurns(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 20), evictortest.PodsPerNode(1))
	start(c, config(), evictor.Options{Gate: mayEvict(func(_ context.Context, pod *v1.Pod, _ taints.Deadline) error {
		if pod.Spec.NodeName == "a-0" {
			return &gate.Refused{Reason: "Budget", Pace: true}
		}
		return nil
	})})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	c.Fail("a-1", "a-2")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-1"))
	require.True(t, c.HasNoExecute("a-2"))
}

// What a Gate refuses with Pace leaves later node by node, at the zone's rate, and is asked about once for each turn.
func TestWhatIsPacedLeavesNodeByNode(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 20), evictortest.PodsPerNode(2))
	permits := evictortest.Epoch.Add(10 * time.Minute)
	asked := 0
	start(c, config(), evictor.Options{Gate: mayEvict(func(context.Context, *v1.Pod, taints.Deadline) error {
		if asked++; c.Clock().Now().Before(permits) {
			return &gate.Refused{Reason: "Budget", Pace: true}
		}
		return nil
	})})
	c.Fail("a-0", "a-1", "a-2", "a-3")
	c.Advance(permits.Sub(c.Clock().Now()) - time.Second)
	require.Empty(t, c.Evicted())
	require.Less(t, asked, 8+2*26, "the eight pods when they are due, then those of one node each ten seconds")
	last := 0
	for range 50 {
		c.Advance(time.Second)
		require.LessOrEqual(t, len(c.Evicted())-last, 2, "the pods of one node")
		last = len(c.Evicted())
	}
	require.Len(t, c.Evicted(), 8)
}
