package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// Whatever holds evictions back is told once of each of them, however often they are tried.
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
			if reason == "NotSettled" {
				c.Advance(30 * time.Second)
				c.Restart()
			}
			closed = true
			c.Advance(2 * time.Minute)
			require.Equal(t, map[string]int{"a-0-p0 " + reason: 1, "a-0-p1 " + reason: 1}, delayed)
		})
	}
}

// What holds evictions back instead is told too, until they go.
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

// A permission that closes or opens is told once, whichever it is.
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

// An eviction is called off for the reason that there is: the taint stays while its node is watched anew.
func TestWatchingAnewIsNoRemovalOfATaint(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	var reasons []string
	e := c.Start(config(), evictor.Options{Observer: evictor.ObserverFunc(func(d evictor.Decision) {
		if d.Kind == evictor.EvictionCancelled {
			reasons = append(reasons, d.Reason)
		}
	})})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	e.SetObserverHealth(errors.New("blind"))
	e.SetObserverHealth(nil)
	c.Advance(20 * time.Second)
	require.True(t, c.HasNoExecute("a-0"))
	require.Equal(t, []string{"NotSettled"}, reasons)
}
