package dryrun_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/dryrun"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/taints"
)

// Labels that would have been written stay, however often the node changes, until another node has its name.
func TestLabelsAreToldOnce(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3), evictortest.NodeLabels(func(string) map[string]string {
		return map[string]string{"beta.kubernetes.io/os": "windows"}
	}))
	clients, told := c.Clients(), map[string]int{}
	dry := &dryrun.Clients{NodeStore: clients.Nodes, Pods: clients.Pods}
	clients.Nodes, clients.Pods, clients.NodeWriter, clients.PodWriter = dry, dry, dry, dry
	e, err := evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: c.Clock(), Observer: evictor.Observe(func(d evictor.NodeDecision) {
		if d.Kind == nodelifecycle.LabelsWritten {
			told[d.Node]++
		}
	}, nil)})
	require.NoError(t, err)
	dry.To = e
	c.Drive(e.Step)
	for range 5 {
		c.Condition("a-0", v1.NodeDiskPressure, v1.ConditionTrue)
		c.Advance(time.Minute)
		c.Condition("a-0", v1.NodeDiskPressure, v1.ConditionFalse)
		c.Advance(time.Minute)
	}
	require.Equal(t, map[string]int{"a-0": 1, "a-1": 1, "a-2": 1}, told)
	shown, _ := dry.Node("a-0")
	require.Equal(t, "linux", shown.Labels["beta.kubernetes.io/os"])
	real, _ := c.Clients().Nodes.Node("a-0")
	require.Equal(t, "windows", real.Labels["beta.kubernetes.io/os"])

	c.LabelNode("a-1", map[string]string{"beta.kubernetes.io/os": "windows", "rack": "7"})
	c.Advance(time.Minute)
	shown, _ = dry.Node("a-1")
	require.Equal(t, []string{"linux", "7"}, []string{shown.Labels["beta.kubernetes.io/os"], shown.Labels["rack"]})
	require.Equal(t, 1, told["a-1"])
}

// Taints of others come and go as they are; only ours are as they would be. A condition that a node lacks shows once it would
// have been written.
func TestOthersChangeANodeThatWouldHaveBeenWritten(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	clients := c.Clients()
	startup := v1.Taint{Key: "network", Effect: v1.TaintEffectNoExecute}
	c.Taint("a-0", startup)
	dry := &dryrun.Clients{NodeStore: clients.Nodes, Pods: clients.Pods, To: c.Start(evictor.DefaultConfig())}
	node, _ := dry.Node("a-0")
	unreachable := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule}
	require.NoError(t, dry.UpdateTaints(context.Background(), node, taints.Change{Add: []v1.Taint{unreachable}}))
	require.NoError(t, dry.UpdateConditions(context.Background(), node, []v1.NodeCondition{{Type: "Fan", Status: v1.ConditionUnknown}}))
	shown := func() []v1.Taint {
		node, _ = dry.Node("a-0")
		return node.Spec.Taints
	}
	require.Len(t, shown(), 2)
	require.Equal(t, v1.NodeConditionType("Fan"), node.Status.Conditions[len(node.Status.Conditions)-1].Type)
	c.Untaint("a-0", startup.Key, startup.Effect)
	require.Equal(t, []v1.Taint{unreachable}, shown())
	c.Taint("a-0", startup)
	require.NoError(t, dry.UpdateTaints(context.Background(), node, taints.Change{Remove: []v1.Taint{unreachable}}))
	require.Len(t, shown(), 1)
	require.Equal(t, startup.Key, shown()[0].Key)

	c.Condition("a-0", "Disk", v1.ConditionTrue)
	node, _ = dry.Node("a-0")
	require.NoError(t, dry.UpdateConditions(context.Background(), node, []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}))
	c.Condition("a-0", "Disk", v1.ConditionFalse)
	node, _ = dry.Node("a-0")
	for _, is := range node.Status.Conditions {
		if is.Type == "Disk" {
			require.Equal(t, v1.ConditionFalse, is.Status)
		}
	}
}

// What is missing is an error of New, or of the first write.
func TestMisuse(t *testing.T) {
	c := evictortest.New(t, evictortest.Zone("a", 3))
	for want, dry := range map[string]*dryrun.Clients{
		"clients.nodes: Required value: dryrun.Clients without NodeStore": {Pods: c.Clients().Pods},
		"clients.pods: Required value: dryrun.Clients without Pods":       {NodeStore: c.Clients().Nodes},
	} {
		_, err := evictor.New(evictor.DefaultConfig(), evictor.Clients{Nodes: dry, Pods: dry, NodeWriter: dry, PodWriter: dry}, evictor.Options{})
		require.ErrorContains(t, err, want)
		_, err = nodelifecycle.New(nodelifecycle.DefaultConfig(), nodelifecycle.Clients{Nodes: dry, Pods: dry, NodeWriter: dry, PodWriter: dry}, nodelifecycle.Options{})
		require.ErrorContains(t, err, want)
		_, err = tainteviction.New(tainteviction.DefaultConfig(), tainteviction.Clients{Nodes: dry, Pods: dry, Evicter: dry}, tainteviction.Options{})
		require.ErrorContains(t, err, want)
	}
	dry := &dryrun.Clients{NodeStore: c.Clients().Nodes, Pods: c.Clients().Pods}
	node, _ := dry.Node("a-0")
	require.EqualError(t, dry.UpdateLabels(context.Background(), node, nil), "dryrun: Clients.To is nil: set it to the evictor that these clients are given to")
	require.ErrorContains(t, dry.Evict(context.Background(), evictor.PodRef{}, taints.Deadline{}), "Clients.To is nil")
}
