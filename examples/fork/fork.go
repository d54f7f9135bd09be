// Package fork answers: what does my fork of kube-controller-manager's node controllers look like without its copies of the
// queues and the timed workers?
//
// It looks as before. Only the two imports of compat are new: they replace the fork's copies of nodelifecycle/scheduler and
// tainteviction, of v1.33 or later. MIGRATING.md has the steps for these and for older versions. The test shows what the
// fork gains, and how to test such code without private fields: in a synctest bubble, where the real clock keeps virtual time.
package fork

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/evictkit/evictkit/evictor/compat/scheduler"
	"github.com/evictkit/evictkit/evictor/compat/tainteviction"
)

// Controller taints failed nodes at the rate of their zone, and deletes the pods of tainted nodes when their tolerations end.
type Controller struct {
	pods  *tainteviction.TimedWorkerQueue
	rate  float32
	taint func(node string) error

	mu    sync.Mutex // held while nodes are tainted, as upstream's evictorLock
	zones map[string]*scheduler.RateLimitedTimedQueue
}

// New makes a Controller that taints so many nodes a second in each zone.
func New(rate float32, taint func(node string) error, evict func(pod string)) *Controller {
	c := &Controller{zones: make(map[string]*scheduler.RateLimitedTimedQueue), rate: rate, taint: taint}
	c.pods = tainteviction.CreateWorkerQueue(func(_ context.Context, _ time.Time, args *tainteviction.WorkArgs) error {
		evict(args.KeyFromWorkArgs())
		return nil
	})
	return c
}

// NodeFailed has a node wait for its turn. It may be called again and again.
func (c *Controller) NodeFailed(zone, node string, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zones[zone] == nil {
		c.zones[zone] = scheduler.NewRateLimitedTimedQueue(flowcontrol.NewTokenBucketRateLimiter(c.rate, scheduler.EvictionRateLimiterBurst))
	}
	return c.zones[zone].Add(node, string(uid))
}

// NodeReady forgets that a node has failed.
func (c *Controller) NodeReady(zone, node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.zones[zone] != nil && c.zones[zone].Remove(node)
}

// ZoneDisrupted stops a zone or lets it go on.
func (c *Controller) ZoneDisrupted(zone string, disrupted bool) {
	rate := c.rate
	if disrupted {
		rate = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if queue := c.zones[zone]; queue != nil {
		queue.SwapLimiter(rate)
	}
}

// Run taints until the context ends.
func (c *Controller) Run(ctx context.Context) {
	defer c.pods.CancelAndWait()
	ticks := time.NewTicker(scheduler.NodeEvictionPeriod)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			c.pass(klog.FromContext(ctx))
		}
	}
}

func (c *Controller) pass(logger klog.Logger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, queue := range c.zones {
		queue.Try(logger, func(value scheduler.TimedValue) (done bool, again time.Duration) {
			return c.taint(value.Value) == nil, time.Second
		})
	}
}

// NodeTainted has a pod leave after the time for which it tolerates the taint.
func (c *Controller) NodeTainted(ctx context.Context, namespace, pod string, tolerated time.Duration) {
	now := time.Now()
	c.pods.AddWork(ctx, tainteviction.NewWorkArgs(pod, namespace), now, now.Add(tolerated))
}

// NodeUntainted keeps a pod that has not left yet.
func (c *Controller) NodeUntainted(ctx context.Context, namespace, pod string) bool {
	return c.pods.CancelWork(klog.FromContext(ctx), tainteviction.NewWorkArgs(pod, namespace).KeyFromWorkArgs())
}
