package plugin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// both runs a case with the plugin in the profile and without it.
func both(t *testing.T, test func(c cluster, with bool), nodes ...*v1.Node) {
	for _, with := range []bool{true, false} {
		t.Run(fmt.Sprintf("with the plugin: %t", with), func(t *testing.T) {
			scheduled(t, with, func(c cluster) { test(c, with) }, nodes...)
		})
	}
}

func (c cluster) busy(node string) {
	p := pod("busy-"+node, "6")
	p.Spec.NodeName = node
	c.add(p)
}

var (
	reserved    = v1.Taint{Key: "reserved", Value: "gpu", Effect: v1.TaintEffectNoSchedule}
	unreachable = v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	silent      = v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoSchedule}
)

// TestFilterKeepsPodsAwayFromTaints also checks that a pod with the toleration is let in.
func TestFilterKeepsPodsAwayFromTaints(t *testing.T) {
	both(t, func(c cluster, with bool) {
		c.busy("a0")
		want := map[bool]string{true: "a0", false: "a1"}[with]
		require.Equal(c, want, c.place(pod("plain", "1")))
		require.Equal(c, "a1", c.place(pod("tolerant", "1", v1.Toleration{Key: reserved.Key, Operator: v1.TolerationOpExists})))
	}, node("a0", v1.ConditionTrue), node("a1", v1.ConditionTrue, reserved))
}

// TestAPodWaitsForItsTaintToGo also checks that the pod's status names the taint.
func TestAPodWaitsForItsTaintToGo(t *testing.T) {
	both(t, func(c cluster, with bool) {
		place := c.place(pod("plain", "1"))
		if !with {
			require.Equal(c, "a0", place)
			return
		}
		require.Empty(c, place)
		require.Contains(c, c.pod("plain").Status.Conditions[0].Message, "0/1 nodes are available: 1 taint reserved=gpu:NoSchedule is not tolerated.")
		c.retried()
		require.Empty(c, c.pod("plain").Spec.NodeName)
		c.update(node("a0", v1.ConditionTrue))
		c.retried()
		require.Equal(c, "a0", c.pod("plain").Spec.NodeName)
	}, node("a0", v1.ConditionTrue, reserved))
}

// TestScorePrefersTheLongestStay uses a pod that every node lets in.
func TestScorePrefersTheLongestStay(t *testing.T) {
	both(t, func(c cluster, with bool) {
		c.busy("a0")
		minute := v1.Toleration{Key: unreachable.Key, Operator: v1.TolerationOpExists, TolerationSeconds: ptr.To[int64](60), Effect: v1.TaintEffectNoExecute}
		want := map[bool]string{true: "a0", false: "a1"}[with]
		require.Equal(c, want, c.place(pod("for-a-minute", "1", minute)))
		minute.TolerationSeconds = nil
		require.Equal(c, "a1", c.place(pod("for-ever", "1", minute)))
	}, node("a0", v1.ConditionTrue), node("a1", v1.ConditionTrue, unreachable))
}

// TestScoreAvoidsAZoneThatFails gives the last Ready node of the zone the most room. The plugin avoids the zone until it
// has recovered.
func TestScoreAvoidsAZoneThatFails(t *testing.T) {
	nodes := []*v1.Node{node("a0", v1.ConditionTrue), node("b0", v1.ConditionTrue)}
	for i := range 3 {
		nodes = append(nodes, node(fmt.Sprint("b", i+1), v1.ConditionTrue))
	}
	both(t, func(c cluster, with bool) {
		c.busy("a0")
		for i := range 3 {
			c.busy(fmt.Sprint("b", i+1))
		}
		require.Equal(c, "b0", c.place(pod("before", "1")))
		for i := range 3 {
			c.update(node(fmt.Sprint("b", i+1), v1.ConditionUnknown, silent))
		}
		want := map[bool]string{true: "a0", false: "b0"}[with]
		require.Equal(c, want, c.place(pod("meanwhile", "1")))
		for i := range 3 {
			c.update(node(fmt.Sprint("b", i+1), v1.ConditionTrue))
		}
		require.Equal(c, "b0", c.place(pod("after", "1")))
	}, nodes...)
}
