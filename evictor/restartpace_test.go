package evictor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
)

// burst lets 6 of 20 nodes of a zone fail, one pod each (300 s), pauses harm from 5:00 to 11:00, and says how many
// pods leave in each second after that.
func burst(t *testing.T, during func(c *evictortest.Cluster, e func() *evictor.Evictor)) (most int) {
	c := evictortest.New(t, evictortest.Zone("a", 20), evictortest.PodsPerNode(1))
	pause := &gate.Pause{}
	c.Start(evictor.DefaultConfig(), evictor.Options{Gate: pause})
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "a-5")
	c.Advance(5 * time.Minute) // tainted from 0:55 to 1:45, due from 5:55 to 6:45
	pause.Pause("look first")
	c.Advance(355 * time.Second)
	require.Empty(t, c.Evicted())
	during(c, c.Evictor)
	c.Advance(5 * time.Second)
	pause.Resume("look first") // at 11:00
	c.Evictor().Kick()
	for s, was := 0, 0; s < 300; s++ {
		c.Advance(time.Second)
		if n := len(c.Evicted()); n > was {
			t.Logf("%3d s after the pause: %d pods", s, n-was)
			most = max(most, n-was)
			was = n
		}
	}
	require.Len(t, c.Evicted(), 6)
	return most
}

func TestPaceAfterAPause(t *testing.T) {
	require.Equal(t, 1, burst(t, func(*evictortest.Cluster, func() *evictor.Evictor) {}))
}

func TestPaceAfterAPauseWithARestart(t *testing.T) {
	require.Equal(t, 1, burst(t, func(c *evictortest.Cluster, _ func() *evictor.Evictor) { c.Restart() }))
}

func TestPaceAfterAPauseWithABlindMoment(t *testing.T) {
	require.Equal(t, 1, burst(t, func(_ *evictortest.Cluster, e func() *evictor.Evictor) {
		e().SetObserverHealth(errors.New("blind"))
		e().SetObserverHealth(nil)
	}))
}

// The restart comes amid the paced release.
func TestPaceRestartAmidTheRelease(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 20), evictortest.PodsPerNode(1))
	pause := &gate.Pause{}
	c.Start(evictor.DefaultConfig(), evictor.Options{Gate: pause})
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "a-5")
	c.Advance(5 * time.Minute)
	pause.Pause("look first")
	c.Advance(6 * time.Minute)
	pause.Resume("look first")
	c.Evictor().Kick()
	c.Advance(12 * time.Second)
	require.Len(t, c.Evicted(), 2)
	c.Restart()
	most, was := 0, 2
	for s := 0; s < 120; s++ {
		c.Advance(time.Second)
		if n := len(c.Evicted()); n > was {
			t.Logf("%3d s after the restart: %d pods", s, n-was)
			most, was = max(most, n-was), n
		}
	}
	require.Equal(t, 1, most)
}

// Another replica that did not lead takes over before the pause ends.
func TestPaceTakeOverBeforeThePauseEnds(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 20), evictortest.PodsPerNode(1))
	pause, leader := &gate.Pause{}, 1
	leads := func(who int) gate.Gate {
		return gate.Leader(func() error {
			if leader != who {
				return errors.New("another one leads")
			}
			return nil
		})
	}
	c.Start(evictor.DefaultConfig(), evictor.Options{Gate: gate.All(leads(1), pause)})
	second, err := evictor.New(evictor.DefaultConfig(), c.Clients(), evictor.Options{Clock: c.Clock(), Gate: gate.All(leads(2), pause)})
	require.NoError(t, err)
	c.Drive(second.Step)
	c.Fail("a-0", "a-1", "a-2", "a-3", "a-4", "a-5")
	c.Advance(5 * time.Minute)
	pause.Pause("look first")
	c.Advance(355 * time.Second)
	leader = 2
	c.Advance(5 * time.Second)
	pause.Resume("look first")
	second.Kick()
	most, was := 0, 0
	for s := 0; s < 120; s++ {
		c.Advance(time.Second)
		if n := len(c.Evicted()); n > was {
			t.Logf("%3d s after the pause: %d pods", s, n-was)
			most, was = max(most, n-was), n
		}
	}
	require.Equal(t, 6, was)
	require.Equal(t, 1, most)
}
