package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evictkit/evictkit/internal/scenario"
)

// playOn is play on a cluster that has objects already.
func playOn(t *testing.T, c *Cluster, s *scenario.Scenario) ([]string, *Report) {
	t.Helper()
	var lines []string
	r, err := Play(context.Background(), s, c, Options{Line: func(l scenario.Line) error {
		lines = append(lines, string(l.AppendJSON(nil)))
		return nil
	}})
	require.NoError(t, err)
	return lines, r
}

func TestObjectsOfToday(t *testing.T) {
	today := metav1.NewTime(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, events := range [][]scenario.Event{
		{{At: at(time.Minute), Fail: &scenario.Selector{Node: "n"}}},
		{{At: at(time.Minute), Fail: &scenario.Selector{Node: "n"}}, {At: at(3 * time.Minute), Restart: &scenario.Restart{}}},
	} {
		c := New(&Clock{})
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
		lines, r := playOn(t, c, &scenario.Scenario{Events: events, Until: at(10 * time.Minute)})
		require.Equal(t, 1, r.Evicted, lines)
	}
}

func TestConditionOnANodeThatIsSilentFromTheStart(t *testing.T) {
	c := New(&Clock{})
	require.NoError(t, c.AddNodeObject(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionUnknown}}}}))
	_, err := Play(context.Background(), &scenario.Scenario{
		Events: []scenario.Event{{At: at(time.Minute), Condition: &scenario.Condition{Selector: scenario.Selector{Node: "n"}, Type: "Ready", Status: "False"}}},
		Until:  at(5 * time.Minute),
	}, c, Options{})
	require.ErrorContains(t, err, `event 1 (at 1m0s): condition: node "n" has failed`)
}
