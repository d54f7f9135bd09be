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
)

// setBack is a clock without monotonic readings that shows less than another one.
type setBack struct {
	clock.PassiveClock
	by time.Duration
}

func (b *setBack) Now() time.Time                  { return b.PassiveClock.Now().Add(-b.by) }
func (b *setBack) Since(t time.Time) time.Duration { return b.Now().Sub(t) }
func (b *setBack) decided(d evictor.Decision) string {
	return d.Time.Add(b.by).Format("15:04:05 ") + d.Kind.String()
}

// When the clock is set back no time has passed, and it counts on from there: everything is done as if it had not been
// set, and reported with the times that the clock shows then.
func TestClockThatGoesBackHoldsNothingUp(t *testing.T) {
	life := func(period time.Duration, taints bool, back ...time.Duration) (timeline, told []string) {
		cfg := config()
		cfg.NodeMonitorPeriod, cfg.TaintBasedEviction, cfg.PodEvictionTimeout = period, taints, 100*time.Second
		tolerations := []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeUnreachable, 60), evictortest.TolerateFor("drain", 90)}
		c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.Zone("b", 3), evictortest.PodsPerNode(2), evictortest.Tolerations(tolerations...))
		clk := &setBack{PassiveClock: c.Clock()}
		closed := error(nil)
		e, err := evictor.New(cfg, c.Clients(), evictor.Options{Clock: clk, MayHarm: func() error { return closed }, Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind != evictor.EvictionDelayed {
				told = append(told, clk.decided(d))
			}
		})})
		require.NoError(t, err)
		c.Feed(e)
		for second := range 700 {
			switch second {
			case 20:
				c.Taint("a-3", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
			case 130:
				c.Fail("a-0", "b-0")
			case 215:
				c.FailWrites(func(write, object string) error { return errors.New("unavailable") })
			case 260:
				c.FailWrites(nil)
				c.Recover("b-0")
			case 400:
				closed = errors.New("closed")
				c.Fail("a-1", "b-1")
			case 550:
				closed = nil
			}
			for i := range 2 { // read before and after it is set, because time between such readings would be lost
				_, err := e.Step(context.Background())
				require.NoError(t, err)
				if i == 0 && len(back) > 0 && (second == 40 || second == 215 || second == 500) {
					clk.by, back = clk.by+back[0], back[1:]
				}
			}
			c.Advance(time.Second)
		}
		return says(c, ""), told
	}
	for _, period := range []time.Duration{0, 5 * time.Second} {
		for _, taints := range []bool{true, false} {
			t.Run(fmt.Sprintf("period %s taints %t", period, taints), func(t *testing.T) {
				timeline, told := life(period, taints)
				require.Greater(t, len(timeline), 20)
				for _, back := range []time.Duration{time.Second, time.Minute, 2 * time.Hour} {
					gotTimeline, gotTold := life(period, taints, back, 2*back, back/3)
					require.Equal(t, strings.Join(timeline, "\n"), strings.Join(gotTimeline, "\n"), back)
					require.Equal(t, strings.Join(told, "\n"), strings.Join(gotTold, "\n"), back)
				}
			})
		}
	}
}
