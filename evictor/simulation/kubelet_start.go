package simulation

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor/simulation/internal/placement"
)

// startKubelet starts a kubelet now.
func (c *cluster) startKubelet(i int32) {
	n := &c.nodes[i]
	if n.starting = c.notReadyFor > 0; n.starting {
		c.tellHappening(n.Name, fmt.Sprintf("the kubelet starts, and reports Ready=False for %s", time.Duration(c.notReadyFor)))
	}
	c.beginRounds(i)
	if n.starting {
		c.startEnds.push(turn{c.now() + c.notReadyFor, i, n.epoch})
	}
}

// registered returns the conditions with which a kubelet registers its node.
func (c *cluster) registered() []v1.NodeCondition {
	if c.notReadyFor == 0 {
		return healthy
	}
	conditions := slices.Clone(healthy)
	ready := &conditions[placement.FindCondition(conditions, v1.NodeReady)]
	ready.Status, ready.Reason, ready.LastTransitionTime = v1.ConditionFalse, "KubeletNotReady", stamp(c.now())
	return conditions
}

// admittedWith returns the taints of a node that registers: the API server's admission adds that it is not ready, and whoever
// taints nodes by their conditions removes that once the node is Ready.
func admittedWith(taints []v1.Taint) []v1.Taint {
	notReady := v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule}
	return append(without(taints, notReady.Key, notReady.Effect), notReady)
}

// endStart makes the kubelet that has started first report what it sees from now on.
func (c *cluster) endStart() {
	t := c.startEnds.pop()
	n := &c.nodes[t.node]
	if n.epoch != t.epoch || n.failed || n.Deleted || !n.starting {
		return
	}
	n.starting = false
	c.tellHappening(n.Name, fmt.Sprintf("the kubelet reports Ready=%s", n.kubeletStatus(v1.NodeReady)))
	c.call(&c.kubelets.reports, t.node, c.report)
}
