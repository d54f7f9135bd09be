package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// While we wait for a node to be watched, which holds only what our own taint asks for, taints of others go on.
func TestForeignTaintsGoOnWhileANodeIsWatched(t *testing.T) {
	drain := v1.Taint{Key: "drain", Effect: v1.TaintEffectNoExecute}
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod = period
		tolerations := evictortest.Tolerations(evictortest.TolerateFor(v1.TaintNodeUnreachable, 300), evictortest.TolerateFor("drain", 355))
		c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.PodsPerNode(1), tolerations)
		c.Start(cfg)
		c.Taint("a-0", drain)
		c.Fail("a-0", "a-1")
		c.Advance(338 * time.Second)
		require.Empty(t, c.Evicted())
		c.Restart()
		c.Advance(20 * time.Second)
		require.Equal(t, []string{"355.000"}, times(says(c, `"evict"`)), "when the other taint is due, which was there before")
		c.Tolerate("a-1-p0", evictortest.TolerateFor(v1.TaintNodeUnreachable, 300))
		c.Taint("a-1", drain)
		c.Advance(0)
		require.Equal(t, []string{"355.000", "358.000"}, times(says(c, `"evict"`)), "one that came meanwhile")
	}
}

// A mirror pod is known by its annotation, whatever that says, as the kubelet knows it.
func TestMirrorPodsStayWhateverTheirAnnotationSays(t *testing.T) {
	u := newUpstreams(t, config())
	u.node("node0", "", longAgo, v1.ConditionTrue)
	u.pass(0)
	pod := u.pod("static", "node0")
	pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: ""}
	pod.Spec.Tolerations = nil
	u.change("node0", func(n *v1.Node) {
		n.Spec.Taints = []v1.Taint{{Key: "drain", Effect: v1.TaintEffectNoExecute}}
	})
	u.pass(0)
	require.Empty(t, u.evicted)
}
