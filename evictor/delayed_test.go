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
