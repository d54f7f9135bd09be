package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/karmada-io/karmada/pkg/sharedcli/ratelimiterflag"
	"github.com/karmada-io/karmada/pkg/util"
)

// TestEvictkitMeasuresThreeWorkers counts what the three workers of a queue do in ten seconds, in virtual time.
func TestEvictkitMeasuresThreeWorkers(t *testing.T) {
	for _, c := range []struct {
		rate float32
		err  error
	}{{5, nil}, {0, nil}, {5, errors.New("refused")}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var done atomic.Int32
			worker := NewEvictionWorker(EvictionWorkerOptions{
				Name:                 "evictkit",
				KeyFunc:              func(obj any) (util.QueueKey, error) { return obj, nil },
				ReconcileFunc:        func(util.QueueKey) error { done.Add(1); return c.err },
				EvictionQueueOptions: EvictionQueueOptions{ResourceEvictionRate: c.rate},
				RateLimiterOptions:   ratelimiterflag.Options{},
			})
			for i := range 1000 {
				worker.Enqueue(i)
			}
			worker.Run(ctx, 3)
			<-ctx.Done()
			synctest.Wait()
			if c.err != nil {
				t.Logf("MEASURED %v/s, all refused: %d", c.rate, done.Load())
			} else {
				t.Logf("MEASURED %v/s: %d", c.rate, done.Load())
			}
		})
	}
}
