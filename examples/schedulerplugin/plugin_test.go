package schedulerplugin_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	framework "k8s.io/kube-scheduler/framework"

	"github.com/evictkit/evictkit/examples/schedulerplugin"
)

// scheduler is the part of a scheduler that the plugin needs.
type scheduler struct {
	framework.Handle
	factory informers.SharedInformerFactory
}

func (s scheduler) SharedInformerFactory() informers.SharedInformerFactory { return s.factory }

// seen is what a scheduler passes to plugins for a node.
type seen struct {
	framework.NodeInfo
	node *v1.Node
}

func (s seen) Node() *v1.Node { return s.node }

func node(zone string, i int, ready v1.ConditionStatus, taints ...v1.Taint) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(zone, i), Labels: map[string]string{v1.LabelTopologyZone: zone}},
		Spec:       v1.NodeSpec{Taints: taints},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}}},
	}
}

// played runs a test with a plugin that has seen these nodes.
func played(t *testing.T, test func(ctx context.Context, client *fake.Clientset, p *schedulerplugin.Plugin), nodes ...*v1.Node) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		for _, n := range nodes {
			require.NoError(t, client.Tracker().Add(n))
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		made, err := schedulerplugin.New(t.Context(), nil, scheduler{factory: factory})
		require.NoError(t, err)
		plugin, ok := made.(*schedulerplugin.Plugin)
		require.True(t, ok)
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		synctest.Wait()
		test(ctx, client, plugin)
		cancel()
		factory.Shutdown()
	})
}

var unreachable = v1.Taint{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}

func tolerating(seconds *int64) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{
		Key: v1.TaintNodeUnreachable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds,
	}}}}
}

func TestFilterNamesTheTaint(t *testing.T) {
	tainted := node("a", 0, v1.ConditionUnknown, unreachable)
	played(t, func(ctx context.Context, _ *fake.Clientset, p *schedulerplugin.Plugin) {
		status := p.Filter(ctx, nil, &v1.Pod{}, seen{node: tainted})
		require.Equal(t, framework.UnschedulableAndUnresolvable, status.Code())
		require.Contains(t, status.Message(), "node.kubernetes.io/unreachable:NoExecute")
		require.True(t, p.Filter(ctx, nil, tolerating(nil), seen{node: tainted}).IsSuccess())
	}, tainted)
}

// TestALongerStayScoresHigher, and an endless one highest.
func TestALongerStayScoresHigher(t *testing.T) {
	well, tainted := node("a", 0, v1.ConditionTrue), node("a", 1, v1.ConditionTrue, unreachable)
	played(t, func(ctx context.Context, _ *fake.Clientset, p *schedulerplugin.Plugin) {
		minutes, hours, none := int64(600), int64(7200), int64(0)
		var scores []int64
		for _, c := range []struct {
			pod  *v1.Pod
			node *v1.Node
		}{{tolerating(&none), tainted}, {tolerating(&minutes), tainted}, {tolerating(&hours), tainted}, {tolerating(nil), tainted}, {&v1.Pod{}, well}} {
			score, status := p.Score(ctx, nil, c.pod, seen{node: c.node})
			require.True(t, status.IsSuccess())
			scores = append(scores, score)
		}
		require.Equal(t, []int64{50, 58, 99, 100, 100}, scores)
	}, well, tainted)
}

// TestAFailingZoneScoresLower from the event that shows it, and until it is healthy again.
func TestAFailingZoneScoresLower(t *testing.T) {
	nodes := []*v1.Node{node("a", 0, v1.ConditionTrue), node("b", 0, v1.ConditionTrue), node("b", 1, v1.ConditionTrue), node("b", 2, v1.ConditionTrue)}
	played(t, func(ctx context.Context, client *fake.Clientset, p *schedulerplugin.Plugin) {
		score := func(of *v1.Node) int64 {
			synctest.Wait()
			score, _ := p.Score(ctx, nil, &v1.Pod{}, seen{node: of})
			return score
		}
		update := func(i int, ready v1.ConditionStatus) {
			_, err := client.CoreV1().Nodes().UpdateStatus(ctx, node("b", i, ready), metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		require.Equal(t, int64(100), score(nodes[3]))
		for i := range 3 {
			update(i, v1.ConditionUnknown)
		}
		require.Equal(t, int64(50), score(nodes[3]))
		require.Equal(t, int64(100), score(nodes[0]))
		require.NoError(t, client.CoreV1().Nodes().Delete(ctx, "b0", metav1.DeleteOptions{}))
		require.NoError(t, client.CoreV1().Nodes().Delete(ctx, "b1", metav1.DeleteOptions{}))
		update(2, v1.ConditionTrue)
		require.Equal(t, int64(100), score(nodes[3]))
	}, nodes...)
}
