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

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// keeper is a program that keeps one pod where it is while err is not nil.
type keeper struct {
	pod   string
	err   error
	asked []time.Duration // since Epoch, about that pod
	while func()          // called while it is asked
}

func (k *keeper) may(_ context.Context, pod *v1.Pod, why evictor.Decision) error {
	if pod.Name != k.pod {
		return nil
	}
	k.asked = append(k.asked, why.Time.Sub(evictortest.Epoch))
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
			cfg.TaintBasedEviction, cfg.PodEvictionTimeout = !harm.emptied, time.Minute
			test(t, cfg, harm.begin)
		})
	}
}

// A refusal costs neither a neighbour nor a turn, and the pod leaves at the instant that the program named.
func TestMayEvictRefusesOnePod(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(3))
		at := evictortest.Epoch.Add(30 * time.Minute)
		k := &keeper{pod: "a-0-p1", err: fmt.Errorf("not now: %w", &evictor.Refusal{Reason: "office hours", Again: at})}
		e := c.Start(cfg, evictor.Options{MayEvict: k.may})
		begin(c, "a-0")
		begin(c, "a-1")
		c.Advance(10 * time.Minute)
		require.ElementsMatch(t, []string{"a-0-p0", "a-0-p2", "a-1-p0", "a-1-p1", "a-1-p2"}, c.Evicted())
		require.Len(t, k.asked, 1)
		node, _ := e.Node("a-0")
		require.Equal(t, []int{1, 1}, []int{node.Evictions, node.Refused})
		require.Equal(t, []any{k.err, at}, []any{e.Evictions()[0].Refused, e.Evictions()[0].Due})
		require.Len(t, toldOf(e, "default/a-0-p1", evictor.EvictionDelayed), 1)
		require.Contains(t, toldOf(e, "default/a-0-p1", evictor.EvictionDelayed)[0], "eviction held back: MayEvict: not now: office hours")

		k.err = nil
		c.Advance(30*time.Minute - c.Clock().Since(evictortest.Epoch) - time.Second)
		require.Len(t, c.Evicted(), 5)
		c.Advance(time.Second)
		require.Len(t, c.Evicted(), 6)
		require.Equal(t, at.Sub(evictortest.Epoch), k.asked[1])
		require.Empty(t, e.Evictions())
	})
}

// Without a time the delays grow from GateInterval to RetryMax, and what is said again is not reported again.
func TestMayEvictIsAskedLessAndLess(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		cfg.GateInterval, cfg.RetryMax = time.Second, 8*time.Second
		for _, err := range []error{errors.New("no room"), &evictor.Refusal{Reason: "no room"}, &evictor.Refusal{Reason: "no room", Again: evictortest.Epoch}} {
			c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
			k := &keeper{pod: "a-0-p0", err: err}
			e := c.Start(cfg, evictor.Options{MayEvict: k.may})
			begin(c, "a-0")
			c.Advance(8 * time.Minute)
			var waits []time.Duration
			for i := range 6 {
				waits = append(waits, k.asked[i+1]-k.asked[i])
			}
			s := time.Second
			require.Equal(t, []time.Duration{s, 2 * s, 4 * s, 8 * s, 8 * s, 8 * s}, waits)
			require.Len(t, toldOf(e, "default/a-0-p0", evictor.EvictionDelayed), 1)

			asked := len(k.asked)
			k.err = errors.New("no room at all")
			e.Kick()
			c.Advance(0)
			require.Len(t, k.asked, asked+1, "a kick asks at once")
			require.Len(t, toldOf(e, "default/a-0-p0", evictor.EvictionDelayed), 2)
			c.Advance(cfg.RetryMax - time.Second)
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
	k := &keeper{pod: "a-0-p0", err: &evictor.Refusal{Reason: "never", Again: time.Unix(1<<60, 0)}}
	e := c.Start(config(), evictor.Options{MayEvict: k.may})
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
	k := &keeper{pod: "p", err: errors.New("never")}
	e := c.Start(config(), evictor.Options{MayEvict: k.may})
	c.Advance(time.Second)
	c.AddNode("late", zone.Key{Zone: "a"})
	c.AddPod("p", "late")
	c.Taint("late", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
	c.Advance(time.Minute)
	require.Greater(t, len(k.asked), 3)
	require.Len(t, toldOf(e, "default/p", evictor.EvictionDelayed), 1)
}

// MayEvict is asked only when nothing else holds the eviction back, and what happens while it is asked is seen.
func TestMayEvictIsAskedLastAndAllIsCheckedAfterIt(t *testing.T) {
	harmed(t, func(t *testing.T, cfg evictor.Config, begin func(*evictortest.Cluster, string)) {
		closed := errors.New("closed")
		for name, brake := range map[string]func(c *evictortest.Cluster, e *evictor.Evictor, write, harm, in *error){
			"leadership": func(_ *evictortest.Cluster, _ *evictor.Evictor, write, _, _ *error) { *write = closed },
			"MayHarm":    func(_ *evictortest.Cluster, _ *evictor.Evictor, _, harm, _ *error) { *harm = closed },
			"MayHarmIn":  func(_ *evictortest.Cluster, _ *evictor.Evictor, _, _, in *error) { *in = closed },
			"a pause":    func(_ *evictortest.Cluster, e *evictor.Evictor, _, _, _ *error) { e.Pause("a drill") },
			"the pod":    func(c *evictortest.Cluster, _ *evictor.Evictor, _, _, _ *error) { c.DeletePod("a-0-p0") },
			"the node":   func(c *evictortest.Cluster, _ *evictor.Evictor, _, _, _ *error) { c.DeleteNode("a-0") },
		} {
			for _, during := range []bool{false, true} {
				var e *evictor.Evictor
				var write, harm, in error
				c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
				k := &keeper{pod: "a-0-p0"}
				if during {
					k.while = func() { brake(c, e, &write, &harm, &in) }
				}
				e = c.Start(cfg, evictor.Options{
					MayEvict: k.may, MayWrite: func() error { return write }, MayHarm: func() error { return harm },
					MayHarmIn: func(zone.Key) error { return in },
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
	k := &keeper{pod: "a-0-p0"}
	var none *evictor.Refusal
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
	e := c.Start(config(), evictor.Options{MayEvict: k.may})
	c.Fail("a-0")
	c.Advance(8 * time.Minute)
	require.Equal(t, []string{"a-0-p1", "a-0-p0"}, c.Evicted())
	require.Len(t, k.asked, 3)
	require.Contains(t, strings.Join(toldOf(e, "default/a-0-p0", evictor.EvictionDelayed), "\n"), "a bug of the program's")
}

// A kick while the program is being asked may tell of something that its answer does not know yet.
func TestKickWhileMayEvictIsAsked(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var e *evictor.Evictor
	k := &keeper{pod: "a-0-p0", err: &evictor.Refusal{Reason: "full", Again: evictortest.Epoch.Add(time.Hour)}}
	kicked := false
	may := func(ctx context.Context, pod *v1.Pod, why evictor.Decision) error {
		err := k.may(ctx, pod, why)
		if err != nil && !kicked {
			kicked, k.err = true, nil
			e.Kick()
		}
		return err
	}
	e = c.Start(config(), evictor.Options{MayEvict: may})
	c.Fail("a-0")
	c.Advance(7 * time.Minute)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
	require.Len(t, k.asked, 2)
}

// A dry run asks too.
func TestDryRunAsksMayEvict(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	k := &keeper{pod: "a-0-p0", err: errors.New("no")}
	e := c.Start(config(), evictor.Options{MayEvict: k.may, DryRun: true})
	c.Fail("a-0")
	c.Advance(8 * time.Minute)
	require.Empty(t, toldOf(e, "default/a-0-p0", evictor.PodEvicted))
	require.Len(t, toldOf(e, "default/a-0-p1", evictor.PodEvicted), 1)
	require.Len(t, toldOf(e, "default/a-0-p0", evictor.EvictionDelayed), 1)
}

// An eviction that is moved, or cancelled and armed anew, asks no sooner for that, but what is then reported includes the refusal.
func TestMayEvictIsNotAskedSoonerBecauseOfNews(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	k := &keeper{pod: "a-0-p0", err: &evictor.Refusal{Reason: "later", Again: evictortest.Epoch.Add(time.Hour)}}
	e := c.Start(config(), evictor.Options{MayEvict: k.may})
	for range 3 {
		c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
		c.Advance(time.Minute)
		c.Untaint("a-0", "k", v1.TaintEffectNoExecute)
		c.Advance(time.Minute)
	}
	require.Len(t, k.asked, 1)
	require.Len(t, toldOf(e, "default/a-0-p0", evictor.EvictionCancelled), 3)
	require.Len(t, toldOf(e, "default/a-0-p0", evictor.EvictionDelayed), 3)
}
