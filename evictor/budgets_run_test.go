//go:build go1.25

package evictor_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// However many evictions are refused, one that is not waits for none of them, nor for those that have not been tried yet and will
// hardly fare better.
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
