//go:build go1.25

package evictor_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/budget"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// Evictions that a bound of Options.Budget holds back are not tried again and again meanwhile.
func TestWhatABudgetHoldsBackIsTriedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 10), evictortest.Zone("b", 10))
		for i := range 3 {
			c.AddPod(fmt.Sprint("p", i), fmt.Sprint("a-", i), evictortest.TolerateFor(v1.TaintNodeUnreachable, 60))
		}
		var asked atomic.Int64 // by every worker
		_, pass := run(t, c, fast(), evictor.Options{
			Budget:   newBudget(t, c, budget.Bound{Name: "a storm", Of: budget.Bad, Max: budget.Percent(20)}),
			Exceeded: func(*budget.Refusal) zone.Pending { return zone.Wait },
			MayWrite: func() error {
				if asked.Add(1) > 100_000 {
					return errors.New("asked without end")
				}
				return nil
			},
		})
		c.Fail("a-0", "a-1", "a-2")
		pass(50)
		require.Len(t, tainted(c, "a", 10), 3)
		c.Fail("b-0", "b-1", "b-2")
		pass(50)
		asked.Store(0)
		pass(120)
		require.Empty(t, c.Evicted())
		require.Less(t, asked.Load(), int64(1000))
		c.Recover("b-0", "b-1", "b-2")
		pass(60)
		require.ElementsMatch(t, []string{"p0", "p1", "p2"}, c.Evicted())
	})
}

// However many evictions are refused, other evictions wait neither for them nor for untried ones that are likely to be
// refused too.
func TestRefusedEvictionsStarveNobody(t *testing.T) {
	for _, after := range []int{1, 60} {
		refusedEvictionsStarveNobody(t, after)
	}
}

func refusedEvictionsStarveNobody(t *testing.T, after int) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		for i := range 400 {
			c.AddPod(fmt.Sprint("guarded-", i), "a-0")
		}
		c.AddPod("free", "a-1")
		cfg := config()
		cfg.PodWorkers = 2
		c.FailWrites(func(write, object string) error {
			if write == "evict" {
				time.Sleep(100 * time.Millisecond)
				if strings.Contains(object, "guarded") {
					return budgetSays()
				}
			}
			return nil
		})
		_, pass := run(t, c, cfg, evictor.Options{})
		c.Taint("a-0", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
		pass(after)
		c.Taint("a-1", v1.Taint{Key: "k", Effect: v1.TaintEffectNoExecute})
		pass(1)
		require.Equal(t, []string{"free"}, c.Evicted())
	})
}
