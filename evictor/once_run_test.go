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

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// While a call evicts a pod for one reason, no other call does for another reason. If it fails, the other goes on.
func TestOneCallAtATimeEvictsAPod(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config()
			cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
			c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
			_, pass := run(t, c, cfg, evictor.Options{})
			var mu sync.Mutex
			calls, most, all := 0, 0, 0
			hang := make(chan struct{})
			c.FailWrites(func(write, _ string) error {
				if write != "evict" {
					return nil
				}
				mu.Lock()
				calls, all = calls+1, all+1
				most = max(most, calls)
				first := all == 1
				mu.Unlock()
				if first {
					<-hang
				}
				mu.Lock()
				calls--
				mu.Unlock()
				if first && fails {
					return errors.New("unavailable")
				}
				return nil
			})
			c.Fail("a-0")
			pass(58)
			c.Taint("a-0", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}) // its eviction hangs
			pass(30)                                                                // and its node is to be emptied
			require.Equal(t, 1, all)
			close(hang)
			pass(5)
			require.Equal(t, 1, most)
			require.Equal(t, map[bool]int{false: 1, true: 2}[fails], all)
			require.Equal(t, []string{"a-0-p0"}, c.Evicted())
		})
	}
}
