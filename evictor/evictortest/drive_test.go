package evictortest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
)

// counting is a user's own controller: a Target that steps every seven seconds.
type counting struct {
	c     *evictortest.Cluster
	looks []time.Duration
	told  map[string]int
}

func (u *counting) NodeChanged(name string)                          { u.told["node "+name]++ }
func (u *counting) PodChanged(key evictor.PodKey)                    { u.told["pod "+key.String()]++ }
func (u *counting) LeaseObserved(node string, _ time.Time, _ string) { u.told["lease "+node]++ }
func (u *counting) SetObserverHealth(error)                          {}

func (u *counting) Step(context.Context) (time.Time, error) {
	now := u.c.Clock().Now()
	u.looks = append(u.looks, now.Sub(evictortest.Epoch))
	return now.Add(7 * time.Second), nil
}

// Your own controller is fed and stepped just like the evictor.
func TestAControllerOfOnesOwn(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 2), evictortest.PodsPerNode(1))
	u := &counting{c: c, told: make(map[string]int)}
	c.Feed(u)
	c.Feed(u)
	c.Drive(u.Step)
	require.Len(t, u.looks, 1, "at once")
	c.Advance(time.Minute)
	for _, at := range []time.Duration{7 * time.Second, 14 * time.Second, 56 * time.Second} {
		require.Contains(t, u.looks, at)
	}
	require.Equal(t, 6, u.told["lease a-0"], "once each")
	c.Start(evictor.DefaultConfig())
	c.Fail("a-0")
	c.DeletePod("a-1-p0")
	c.Advance(2 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.NotZero(t, u.told["node a-0"])
	require.NotZero(t, u.told["pod default/a-1-p0"])
}

func TestAControllerThatFailsFailsTheTest(t *testing.T) {
	c := evictortest.New(fatal{}, evictortest.Zone("a", 1))
	require.PanicsWithValue(t, "evictortest: lost", func() {
		c.Drive(func(context.Context) (time.Time, error) { return time.Time{}, errors.New("lost") })
	})
}

// Pods in any namespace are named as Evicted names them.
func TestPodsOfAnyNamespace(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	c.Start(evictor.DefaultConfig())
	c.AddPod("shop/cart", "a-0")
	c.AddPod("shop/till", "a-0")
	c.AddPod("cart", "a-0")
	c.DeletePod("shop/till")
	c.Tolerate("cart", v1.Toleration{Operator: v1.TolerationOpExists})
	c.Fail("a-0")
	c.Advance(2 * time.Minute)
	require.Equal(t, []string{"shop/cart"}, c.Evicted())
}
