//go:build go1.25

package evictor_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// Exact mode acts on arrival, also for the lease of a node that was Unknown: nothing else wakes Run for it.
func TestLeaseOfASilentNodeWakesRunInExactMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 1))
		c.SetAPIDown(true) // its conditions cannot be written, so that its object still says Ready
		cfg := config()
		cfg.NodeMonitorPeriod = 0
		e, pass := run(t, c, cfg, evictor.Options{})
		c.Fail("a-0")
		pass(60)
		st, _ := e.Node("a-0")
		require.Equal(t, v1.ConditionUnknown, st.Verdict.Ready)
		e.LeaseRenewed("a-0", time.Now())
		synctest.Wait()
		st, _ = e.Node("a-0")
		require.Equal(t, v1.ConditionTrue, st.Verdict.Ready)
	})
}

// If only an eviction finds a permission refused, its node waits for its zone's rate, and nothing else looks at that
// queue.
func TestOverdueEvictionWakesRunForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 3))
		c.AddPod("p", "a-0", evictortest.TolerateFor("maintenance", 30))
		cfg := config()
		cfg.NodeMonitorPeriod = 0
		closed := time.Now().Add(29500 * time.Millisecond)
		_, pass := run(t, c, cfg, evictor.Options{MayHarm: func() error {
			if since := time.Since(closed); since > 0 && since < time.Second {
				return errors.New("not now")
			}
			return nil
		}})
		c.Taint("a-0", v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoExecute})
		pass(33)
		require.Equal(t, []string{"p"}, c.Evicted())
	})
}

// While the API server fails, Run tries one write every five seconds also in exact mode, which has no passes that would
// look at what is to be tried.
func TestRunProbesAFailingAPIInExactMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := evictortest.New(t, evictortest.Zone("a", 1))
		cfg := config()
		cfg.NodeMonitorPeriod = 0
		var mu sync.Mutex
		var tries []time.Time
		c.FailWrites(func(string, string) error {
			mu.Lock()
			defer mu.Unlock()
			tries = append(tries, time.Now())
			return apierrors.NewServiceUnavailable("down")
		})
		_, pass := run(t, c, cfg, evictor.Options{})
		c.Fail("a-0")
		pass(600)
		longest := time.Duration(0)
		for i := range tries[1:] {
			longest = max(longest, tries[i+1].Sub(tries[i]))
		}
		require.Equal(t, 5*time.Second, longest)
	})
}
