package evictor_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
)

// A Gate is not asked about the same act before the time that its refusal names: not when another refusal ends, and not
// because the observer goes blind or says once more that it sees. Kick asks.
func TestGateIsNotAskedBeforeTheTimeThatItNames(t *testing.T) {
	for _, do := range []gate.Do{gate.Write, gate.Harm, gate.Turn} {
		c := evictortest.New(t, evictortest.Zone("a", 6), evictortest.PodsPerNode(1))
		var again time.Time
		asked, harm := 0, error(nil)
		e := start(c, config(), evictor.Options{Gate: gate.Func(func(_ context.Context, act gate.Act) error {
			switch now := c.Clock().Now(); {
			case act.Do == do:
				require.False(t, now.Before(again), "asked %v too early", again.Sub(now))
				asked, again = asked+1, now.Add(5*time.Minute)
				return &gate.Refused{Reason: "later", Again: again}
			case act.Do == gate.Harm:
				return harm
			}
			return nil
		})})
		c.Fail("a-0")
		c.Advance(time.Minute)
		require.Equal(t, 1, asked)
		harm = errors.New("closed")
		c.Advance(20 * time.Second)
		harm = nil
		c.Advance(20 * time.Second)
		e.SetObserverHealth(nil) // as it was
		c.Advance(5 * time.Second)
		e.SetObserverHealth(errors.New("blind"))
		c.Advance(5 * time.Second)
		require.Equal(t, 1, asked)
		e.SetObserverHealth(nil)
		again = time.Time{}
		c.Advance(2 * time.Minute)
		require.Equal(t, 2, asked)
		again = time.Time{}
		e.Kick()
		c.Advance(time.Second)
		require.Equal(t, 3, asked)
	}
}
