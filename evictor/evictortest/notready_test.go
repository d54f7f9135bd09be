package evictortest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/zone"
)

// With NotReadyFor, a kubelet that starts is not Ready at first, and the evictor taints its node. Those of New have started before.
func TestAKubeletThatStartsIsNotReady(t *testing.T) {
	const notReady = "node.kubernetes.io/not-ready:NoSchedule"
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.NotReadyFor(15*time.Second))
	c.Start(evictor.DefaultConfig())
	c.Advance(time.Minute)
	require.Empty(t, c.Taints("a-0"))
	c.AddNode("a-3", zone.Key{Zone: "a"})
	c.Fail("a-0")
	c.Recover("a-0") // a quick restart
	c.Advance(14 * time.Second)
	require.Contains(t, c.Taints("a-0"), notReady)
	require.Contains(t, c.Taints("a-3"), notReady)
	require.Empty(t, c.Taints("a-1"))
	c.Advance(6 * time.Second) // to the next pass
	require.Empty(t, c.Taints("a-0"))
	require.Empty(t, c.Taints("a-3"))
}
