package evictor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/evictor/evictortest"
)

// After a start a node that never reported is watched for a grace period of ours too, though it is Unknown at once.
func TestStartEvictsNobodyFromANodeThatNeverReported(t *testing.T) {
	for _, period := range []time.Duration{0, 5 * time.Second} {
		cfg := config()
		cfg.NodeMonitorPeriod = period
		u := newUpstreams(t, cfg)
		u.node("node0", "", longAgo, "")
		u.node("node1", "", longAgo, v1.ConditionTrue)
		u.reporting["node1"] = true
		added := metav1.NewTime(u.clk.Now().Add(-time.Hour))
		u.nodes["node0"].Spec.Taints = []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute, TimeAdded: &added}}
		pod := u.pod("p", "node0")
		pod.CreationTimestamp = added
		pod.Spec.Tolerations = []v1.Toleration{evictortest.TolerateFor(v1.TaintNodeUnreachable, 300)}
		u.pass(35 * time.Second)
		require.Empty(t, u.evicted)
		u.pass(15 * time.Second)
		require.Equal(t, []string{"p"}, u.evicted)
	}
}
