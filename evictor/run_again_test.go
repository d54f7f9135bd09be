//go:build go1.25

package evictor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// slowToSync needs a second to say that it is synced.
type slowToSync struct{ evictor.NodeStore }

func (s slowToSync) Synced() bool {
	time.Sleep(time.Second) // the bubble's clock
	return s.NodeStore.Synced()
}

// What was told while nobody ran counts before what became due meanwhile.
func TestRunReadsWhatWasToldBeforeItEvicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
		clients := c.Clients()
		clients.Nodes = slowToSync{clients.Nodes}
		e, err := evictor.New(config(), clients, evictor.Options{Clock: clock.RealClock{}})
		require.NoError(t, err)
		c.Feed(e)
		run := func(seconds int) {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- e.Run(ctx) }()
			for range seconds {
				time.Sleep(time.Second)
				c.Advance(time.Second)
				synctest.Wait()
			}
			stop()
			<-done
		}
		c.Fail("a-0")
		run(60)
		due := e.Evictions()[0].Due
		run(int(time.Until(due)/time.Second) - 10)
		e.Hold("a-0", "a technician is there")
		time.Sleep(20 * time.Second)
		run(10)
		require.Empty(t, c.Evicted())
	})
}
