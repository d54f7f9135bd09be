package clientgo

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/taints"
)

// An eviction that fell due while the process was suspended is refused, also if nothing else has noticed the suspension yet.
func TestAnEvictionThatNoticesASuspensionIsRefused(t *testing.T) {
	clk := testingclock.NewFakeClock(time.Unix(1e9, 0))
	client := fake.NewClientset()
	c, err := New(client, Options{Clock: clk})
	require.NoError(t, err)
	c.guard.tick(clk.Now())
	require.NoError(t, c.guard.awake())
	clk.Step(10 * time.Minute)
	err = c.podWriter().Evict(context.Background(), evictor.PodRef{PodKey: evictor.PodKey{Namespace: "shop", Name: "cart"}}, taints.Deadline{})
	var no *gate.Refused
	require.ErrorAs(t, err, &no)
	require.Equal(t, "Blind", no.Reason)
	require.ErrorContains(t, err, "suspended for 10m")
	require.Empty(t, client.Actions())
	require.Error(t, c.guard.awake(), "and so is the next one")
}
