//go:build go1.25

package evictor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// leaping is a clock that can leap ahead, as after a process was frozen.
type leaping struct {
	clock.RealClock
	ahead atomic.Int64
}

func (c *leaping) Now() time.Time                  { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *leaping) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// If nobody watched for more than a grace period, evictions wait for the pass that notices it. This also holds under
// Run, where workers may get them before that pass.
func TestEvictionsWaitForThePassThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		c.AddPod("p", "a-0", evictortest.TolerateFor("node.kubernetes.io/unreachable", 300))
		clk := &leaping{}
		e, err := evictor.New(config(), c.Clients(), evictor.Options{Clock: clk})
		require.NoError(t, err)
		c.Feed(e)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Run(ctx) }()
		second := func(n int) {
			for range n {
				time.Sleep(time.Second)
				c.Advance(time.Second)
				synctest.Wait()
			}
		}
		c.Fail("a-0")
		second(60)
		require.True(t, c.HasNoExecute("a-0"))
		due := e.Evictions()[0].Due
		second(int(due.Sub(clk.Now())/time.Second) - 1)
		next := due.Add(-time.Second) // tried by its timer, before the pass that is due in some seconds
		require.False(t, clk.Now().Before(next))
		clk.ahead.Store(int64(10 * time.Minute))
		second(2)
		require.Empty(t, c.Evicted())
		second(120)
		require.Equal(t, []string{"p"}, c.Evicted(), "one more grace period later")
		stop()
		<-done
	})
}
