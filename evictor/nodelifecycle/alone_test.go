package nodelifecycle_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/gate"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
)

// Alone, nodes are watched, tainted and lifted as usual, and no pod is evicted because of taints.
func TestAlone(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 4), evictortest.PodsPerNode(1))
	told, clients := map[nodelifecycle.Kind]int{}, c.Clients()
	e, err := nodelifecycle.New(nodelifecycle.DefaultConfig(), clients, nodelifecycle.Options{
		Clock: c.Clock(), Observer: func(d nodelifecycle.Decision) { told[d.Kind]++ },
	})
	require.NoError(t, err)
	c.Drive(func(ctx context.Context) (time.Time, error) { return e.Step(ctx) })
	c.Fail("a-0")
	c.Taint("a-1", v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute})
	c.Advance(20 * time.Minute)
	require.True(t, c.HasNoExecute("a-0"))
	require.Empty(t, c.Evicted())
	require.Positive(t, told[nodelifecycle.PodMarkedNotReady])
	require.Zero(t, told[nodelifecycle.PodEvicted])
	c.Recover("a-0")
	c.Advance(time.Minute)
	require.False(t, c.HasNoExecute("a-0"))
	require.Len(t, e.Zones(), 1)
}

// Alone, too, a Gate that has refused is asked again after an interval, and not at each node.
func TestAloneARefusalIsRemembered(t *testing.T) {
	c, asked := evictortest.New(t, evictortest.Zone("a", 40)), 0
	cfg := nodelifecycle.DefaultConfig()
	cfg.GateInterval = 10 * time.Second
	e, err := nodelifecycle.New(cfg, c.Clients(), nodelifecycle.Options{Clock: c.Clock(), Gate: gate.Func(func(context.Context, gate.Act) error {
		asked++
		return &gate.Refused{Reason: "Night"}
	})})
	require.NoError(t, err)
	c.Drive(e.Step)
	for i := range 10 {
		c.Fail(fmt.Sprint("a-", i))
	}
	c.Advance(10 * time.Minute)
	require.Positive(t, asked)
	require.LessOrEqual(t, asked, 2*61, "about writes and about harm")
}
