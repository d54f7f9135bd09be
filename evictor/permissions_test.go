package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

func TestClosedPermissions(t *testing.T) {
	leader := false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	writes := 0
	c.FailWrites(func(string, string) error { writes++; return nil })
	c.Start(config(), evictor.Options{MayWrite: func() error {
		if !leader {
			return errors.New("not the leader")
		}
		return nil
	}})
	c.Fail("a-0")
	c.Advance(10 * time.Minute)
	require.Zero(t, writes)
	leader = true
	c.Advance(10 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	leader = false
	writes = 0
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.Zero(t, writes)
}

func TestMayHarmIsAskedAgainBeforeActing(t *testing.T) {
	healthy := true
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	c.Start(config(), evictor.Options{MayHarm: func() error {
		if !healthy {
			return errors.New("metrics say no")
		}
		return nil
	}})
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	healthy = false
	c.Advance(5 * time.Minute)
	require.Empty(t, c.Evicted())
	healthy = true
	c.Advance(12 * time.Second)
	require.Equal(t, []string{"a-0-p0"}, c.Evicted())
}

// An evictor that loses its permission to write stops at the next write, not after the last of many.
func TestLosingTheLeadStopsTheRestOfANode(t *testing.T) {
	leader := true
	cfg := config()
	cfg.TaintBasedEviction = false
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(4))
	c.Start(cfg, evictor.Options{MayWrite: func() error {
		if !leader {
			return errors.New("not the leader")
		}
		return nil
	}})
	c.Fail("a-0")
	marked, evicted := 0, 0
	c.FailWrites(func(write, object string) error {
		switch write {
		case "podStatus":
			marked++
			leader = marked != 2
		case "evict":
			evicted++
			leader = evicted != 2
		}
		return nil
	})
	c.Advance(2 * time.Minute)
	require.Equal(t, 2, marked)
	leader = true
	c.Advance(time.Minute)
	require.Equal(t, 4, marked)
	c.Advance(10 * time.Minute)
	require.Equal(t, 2, evicted)
	leader = true
	c.Advance(time.Minute)
	require.Equal(t, 4, evicted)
}

// Kick makes it ask again at once, also for writes and evictions that were refused.
func TestKickHurriesWhatWaitsForAPermission(t *testing.T) {
	cfg := config()
	cfg.GateInterval = time.Hour
	var closed error
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("p", "a-0", evictortest.TolerateFor("one", 30))
	e := c.Start(cfg, evictor.Options{MayWrite: func() error { return closed }})
	c.Fail("a-1")
	c.Advance(time.Minute)
	require.True(t, c.HasNoExecute("a-1"))
	closed = errors.New("not the leader")
	c.Recover("a-1")
	c.Fail("a-2")
	c.Taint("a-0", v1.Taint{Key: "one", Effect: v1.TaintEffectNoExecute})
	c.Advance(2 * time.Minute)
	closed = nil
	e.Kick()
	c.Advance(0)
	require.Empty(t, c.Taints("a-1"))
	require.True(t, c.HasNoExecute("a-2"))
	require.Equal(t, []string{"p"}, c.Evicted())
}

// A reason that holds evictions back is reported once for each of them, however often they are tried.
func TestEachEvictionIsToldOfOnceWhenItIsHeldBack(t *testing.T) {
	shut := errors.New("not now")
	for reason, permission := range map[string]func(o *evictor.Options, closed *bool){
		"MayHarm":    func(o *evictor.Options, closed *bool) { o.MayHarm = fence(closed, shut) },
		"MayWrite":   func(o *evictor.Options, closed *bool) { o.MayWrite = fence(closed, shut) },
		"NotSettled": func(*evictor.Options, *bool) {},
	} {
		t.Run(reason, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
			delayed := map[string]int{}
			closed := false
			options := evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
				if d.Kind == evictor.EvictionDelayed {
					delayed[d.Pod.Name+" "+d.Reason]++
				}
			})}
			permission(&options, &closed)
			c.Start(config(), options)
			c.Fail("a-0")
			c.Advance(5 * time.Minute)
			node := "a-0"
			if reason == "NotSettled" { // it comes failed and tainted
				node = "new"
				c.AddNode(node, zone.Key{Zone: "a"})
				c.Condition(node, v1.NodeReady, v1.ConditionFalse)
				c.Taint(node, v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute})
				for _, pod := range []string{"new-p0", "new-p1"} {
					c.AddPod(pod, node, evictortest.TolerateFor(v1.TaintNodeNotReady, 10))
				}
			}
			closed = true
			c.Advance(2 * time.Minute)
			require.Equal(t, map[string]int{node + "-p0 " + reason: 1, node + "-p1 " + reason: 1}, delayed)
		})
	}
}

// Another reason is reported too.
func TestAnotherDelayIsToldToo(t *testing.T) {
	var follower error
	var delayed []string
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
	e := c.Start(config(), evictor.Options{
		MayWrite: func() error { return follower },
		Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.EvictionDelayed {
				delayed = append(delayed, d.Pod.Name+" "+d.Reason)
			}
		}),
	})
	c.Fail("a-0")
	c.Advance(5 * time.Minute)
	follower = errors.New("another replica leads")
	c.Advance(5 * time.Minute)
	require.ElementsMatch(t, []string{"a-0-p0 MayWrite", "a-0-p1 MayWrite"}, delayed)
	e.Pause("upgrade")
	c.Advance(time.Minute)
	require.ElementsMatch(t, []string{"a-0-p0 MayHarm", "a-0-p1 MayHarm"}, delayed[2:])
	e.Resume("upgrade")
	c.Advance(5 * time.Minute) // now the node waits for its turn
	require.Empty(t, c.Evicted())
	follower = nil
	c.Advance(time.Minute)
	require.Len(t, c.Evicted(), 2)
	require.Len(t, delayed, 4)
}

func fence(closed *bool, err error) func() error {
	return func() error {
		if *closed {
			return err
		}
		return nil
	}
}

// A permission that is refused or granted is reported once, for either permission.
func TestBothPermissionsAreToldOf(t *testing.T) {
	shut := errors.New("not now")
	for what, permission := range map[string]func(o *evictor.Options, closed *bool){
		"taints and evictions": func(o *evictor.Options, closed *bool) { o.MayHarm = fence(closed, shut) },
		"writes":               func(o *evictor.Options, closed *bool) { o.MayWrite = fence(closed, shut) },
	} {
		t.Run(what, func(t *testing.T) {
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(2))
			var told []string
			closed := false
			options := evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
				if d.Kind == evictor.GateChanged {
					told = append(told, d.Reason)
					require.Equal(t, closed, errors.Is(d.Err, shut))
				}
			})}
			permission(&options, &closed)
			c.Start(config(), options)
			c.Fail("a-0")
			c.Advance(5 * time.Minute)
			closed = true
			c.Advance(2 * time.Minute)
			closed = false
			c.Advance(2 * time.Minute)
			require.Equal(t, []string{what + " are held back", what + " go on"}, told)
		})
	}
}
