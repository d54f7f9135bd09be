package fork_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/examples/fork"
)

// record is what a controller did, and when.
type record struct {
	mu    sync.Mutex
	start time.Time
	lines []string
	fails error
}

func (r *record) note(what string) {
	r.lines = append(r.lines, fmt.Sprint(time.Since(r.start).Truncate(time.Second), " ", what))
}

func (r *record) taint(node string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails != nil {
		return r.fails
	}
	r.note("taint " + node)
	return nil
}

func (r *record) evict(pod string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note("evict " + pod)
}

func (r *record) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = err
}

func (r *record) did() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines
}

// play runs a controller of one node a second and zone, in a bubble.
func play(t *testing.T, test func(ctx context.Context, c *fork.Controller, r *record)) {
	synctest.Test(t, func(t *testing.T) {
		r := &record{start: time.Now()}
		c := fork.New(1, r.taint, r.evict)
		ctx, stop := context.WithCancel(t.Context())
		test(ctx, c, r)
		stop()
		synctest.Wait()
	})
}

// TestNodesWaitForTheirTurn, each once, and each zone for itself.
func TestNodesWaitForTheirTurn(t *testing.T) {
	play(t, func(ctx context.Context, c *fork.Controller, r *record) {
		for _, node := range []string{"a-1", "a-2", "a-3", "b-1"} {
			require.True(t, c.NodeFailed(node[:1], node, "uid"))
			require.False(t, c.NodeFailed(node[:1], node, "uid"))
		}
		require.True(t, c.NodeReady("a", "a-2"))
		go c.Run(ctx)
		time.Sleep(time.Minute)
		require.ElementsMatch(t, []string{"0s taint a-1", "0s taint b-1", "1s taint a-3"}, r.did())
	})
}

// TestAFailedWriteIsTriedAgain, and no sooner than a second later.
func TestAFailedWriteIsTriedAgain(t *testing.T) {
	play(t, func(ctx context.Context, c *fork.Controller, r *record) {
		c.NodeFailed("a", "a-1", "uid")
		r.fail(errors.New("the API server is down"))
		go c.Run(ctx)
		time.Sleep(time.Minute)
		require.Empty(t, r.did())
		r.fail(nil)
		time.Sleep(time.Minute)
		require.Len(t, r.did(), 1)
	})
}

// TestADisruptedZoneGoesOnAfterwards: with upstream's own queue it would not, because its rate is 1 (kubernetes#104639).
func TestADisruptedZoneGoesOnAfterwards(t *testing.T) {
	play(t, func(ctx context.Context, c *fork.Controller, r *record) {
		c.NodeFailed("a", "a-1", "uid")
		c.ZoneDisrupted("a", true)
		go c.Run(ctx)
		time.Sleep(time.Hour)
		require.Empty(t, r.did())
		c.ZoneDisrupted("a", false)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"1h0m1s taint a-1"}, r.did())
	})
}

// TestAPodLeavesAtItsTime, unless its node is untainted before.
func TestAPodLeavesAtItsTime(t *testing.T) {
	play(t, func(ctx context.Context, c *fork.Controller, r *record) {
		go c.Run(ctx)
		c.NodeTainted(ctx, "shop", "cart", 5*time.Minute)
		c.NodeTainted(ctx, "shop", "till", 5*time.Minute)
		time.Sleep(4 * time.Minute)
		require.True(t, c.NodeUntainted(ctx, "shop", "till"))
		time.Sleep(time.Hour)
		require.Equal(t, []string{"5m0s evict shop/cart"}, r.did())
	})
}
