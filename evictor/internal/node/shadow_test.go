package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/taints"
)

func TestShadow(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	foreign := v1.Taint{Key: "example.com/mine", Effect: v1.TaintEffectNoExecute}
	unreachable := v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}
	ready := func(status v1.ConditionStatus, heard time.Time) v1.NodeCondition {
		return v1.NodeCondition{Type: v1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(heard)}
	}
	object := &v1.Node{}
	object.UID, object.Labels = "a", map[string]string{"os": "old", "other": "stays"}
	object.Spec.Taints = []v1.Taint{foreign}
	object.Status.Conditions = []v1.NodeCondition{ready(v1.ConditionTrue, at), {Type: v1.NodeDiskPressure}}

	var none *Shadow
	require.Same(t, object, none.Over(object))
	require.False(t, none.Heard())

	s := &Shadow{}
	s.Conditions(object, []v1.NodeCondition{ready(v1.ConditionUnknown, at)})
	s.Taints(object, taints.Change{Add: []v1.Taint{unreachable}}, at)
	s.Labels(object, map[string]string{"os": "new"})
	s.Labels(object, map[string]string{"arch": "new"})
	shown := s.Over(object)
	require.Equal(t, []v1.NodeCondition{ready(v1.ConditionUnknown, at), {Type: v1.NodeDiskPressure}}, shown.Status.Conditions)
	require.Equal(t, []string{foreign.Key, unreachable.Key}, []string{shown.Spec.Taints[0].Key, shown.Spec.Taints[1].Key})
	require.Equal(t, map[string]string{"os": "new", "arch": "new", "other": "stays"}, shown.Labels)
	require.Equal(t, "old", object.Labels["os"], "what the store owns stays as it is")
	require.Len(t, object.Spec.Taints, 1)

	reported := object.DeepCopy()
	reported.Status.Conditions[0] = ready(v1.ConditionTrue, at.Add(time.Second))
	require.Equal(t, v1.ConditionTrue, ReadyOf(s.Over(reported)).Status, "the kubelet's report replaces what was written")
	require.Len(t, s.Over(reported).Spec.Taints, 2)

	require.True(t, s.Heard())
	require.False(t, s.Heard())
	require.Equal(t, v1.ConditionTrue, ReadyOf(s.Over(object)).Status)

	s.Taints(shown, taints.Change{Remove: []v1.Taint{unreachable}}, at)
	require.Equal(t, []v1.Taint{foreign}, s.Over(object).Spec.Taints)

	another := object.DeepCopy()
	another.UID = "b"
	require.Same(t, another, s.Over(another), "of a node that is gone")
	s.Labels(another, map[string]string{"os": "new"})
	require.Empty(t, s.managed)
	require.Equal(t, map[string]string{"os": "new", "other": "stays"}, s.Over(another).Labels)
	require.Same(t, object, s.Over(object))
}
