package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestObjectsOfToday(t *testing.T) {
	today := metav1.NewTime(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, events := range [][]Event{
		{{At: time.Minute, Fail: named("n")}},
		{{At: time.Minute, Fail: named("n")}, {At: 3 * time.Minute, Restart: &Restart{}}},
	} {
		c := newCluster(clockOf(nil))
		ready := v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: today, LastTransitionTime: today}}}
		for _, name := range []string{"n", "m", "o"} {
			require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", CreationTimestamp: today}, Status: ready}))
		}
		seconds := int64(30)
		bound, err := c.AddPodObject(&v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p", CreationTimestamp: today},
			Spec:       v1.PodSpec{NodeName: "n", Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists, TolerationSeconds: &seconds, Effect: v1.TaintEffectNoExecute}}},
			Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &today, Conditions: []v1.PodCondition{
				{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: today}, {Type: v1.PodReady, Status: v1.ConditionTrue},
			}},
		})
		require.NoError(t, err)
		require.True(t, bound)
		lines, r := playOn(t, c, Scenario{Events: events, Until: 10 * time.Minute, ReplaceAfter: -1})
		require.Equal(t, 1, r.Evicted, lines)
	}
}

func TestConditionOnANodeThatIsSilentFromTheStart(t *testing.T) {
	c := newCluster(clockOf(nil))
	require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}}}))
	s := Scenario{
		Events:       []Event{{At: time.Minute, Condition: &Condition{Nodes: Nodes{Names: []string{"n"}}, Type: "Ready", Status: "False"}}},
		Until:        5 * time.Minute,
		ReplaceAfter: -1,
	}
	_, err := s.playOn(context.Background(), c)
	require.ErrorContains(t, err, `event 1 (at 1m0s): condition: node n has failed`)
}
