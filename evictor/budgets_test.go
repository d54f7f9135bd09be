package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// What a budget asked for in one outage does not hold the next one's pods back.
func TestBudgetOfAnOutageDoesNotHoldTheNextOneBack(t *testing.T) {
	cfg := config()
	cfg.TaintBasedEviction, cfg.PodEvictionTimeout = false, time.Minute
	c := evictortest.New(t, evictortest.Zone("a", 6))
	c.AddPod("guarded", "a-0")
	e := c.Start(cfg)
	c.FailWrites(func(write, object string) error {
		if write == "evict" && object == "default/guarded" {
			return apierrors.NewTooManyRequests("budget", 3600)
		}
		return nil
	})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	c.Cordon("a-0", true)
	c.Advance(5 * time.Second)
	require.Contains(t, c.Taints("a-0"), "node.kubernetes.io/unschedulable:NoSchedule", "only pods wait for a budget")
	c.Cordon("a-0", false)
	c.Advance(5 * time.Second)
	require.Equal(t, evictor.Backlog{Name: "lifts"}, e.Backlogs()[3], "nothing is left to lift")
	c.Recover("a-0")
	c.Advance(time.Minute)
	c.AddPod("free", "a-0")
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"free"}, c.Evicted())
}
