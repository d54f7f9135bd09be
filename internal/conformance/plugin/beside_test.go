package plugin

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	schedruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/evictkit/evictkit/examples/schedulerplugin"
	"github.com/evictkit/evictkit/taints"
)

// alone is upstream's framework with one plugin that filters and scores.
func alone(t *testing.T, name string) framework.Framework {
	t.Helper()
	metrics.Register()
	registry := plugins.NewInTreeRegistry()
	registry[schedulerplugin.Name] = schedulerplugin.New
	only := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name, Weight: 1}}}
	}
	client := fake.NewClientset()
	f, err := schedruntime.NewFramework(klog.NewContext(t.Context(), klog.NewKlogr().V(99)), registry, &config.KubeSchedulerProfile{
		SchedulerName: v1.DefaultSchedulerName,
		Plugins:       &config.Plugins{QueueSort: only(queuesort.Name), Bind: only(defaultbinder.Name), MultiPoint: only(name)},
	}, schedruntime.WithClientSet(client), schedruntime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)))
	require.NoError(t, err)
	return f
}

// Beside TaintToleration, in upstream's framework: the plugin lets in the same nodes, and where several are let in,
// taints.PreferNoSchedule ranks them as TaintToleration does. 10,000 decisions.
func TestTheSameAsTaintToleration(t *testing.T) {
	theirs, ours := alone(t, tainttoleration.Name), alone(t, schedulerplugin.Name)
	random := rand.New(rand.NewSource(1))
	one := func(of ...string) string { return of[random.Intn(len(of))] }
	effects := []string{"NoSchedule", "NoExecute", "PreferNoSchedule"}
	denied, ranked := 0, 0
	for range 2500 {
		p := pod("p", "1")
		for range random.Intn(4) {
			is := v1.Toleration{Key: one("", "a", "b", "c"), Operator: v1.TolerationOpExists, Effect: v1.TaintEffect(one(append(effects, "")...))}
			if is.Key != "" && random.Intn(2) == 0 {
				is.Operator, is.Value = v1.TolerationOperator(one("", "Equal")), one("", "x", "y")
			}
			p.Spec.Tolerations = append(p.Spec.Tolerations, is)
		}
		state := framework.NewCycleState()
		var let []fwk.NodeInfo
		var count fwk.NodeScoreList
		for i := range 4 {
			n := node(fmt.Sprint("a", i), v1.ConditionTrue)
			for range random.Intn(4) {
				n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: one("a", "b", "c"), Value: one("", "x", "y"), Effect: v1.TaintEffect(one(append(effects, "PreferNoSchedule")...))})
			}
			info := framework.NewNodeInfo()
			info.SetNode(n)
			want, got := theirs.RunFilterPlugins(t.Context(), state, p, info), ours.RunFilterPlugins(t.Context(), state, p, info)
			require.Equal(t, want.Code(), got.Code(), "%v on %v", p.Spec.Tolerations, n.Spec.Taints)
			if !want.IsSuccess() {
				denied++
				continue
			}
			let = append(let, info)
			count = append(count, fwk.NodeScore{Name: n.Name, Score: int64(taints.PreferNoSchedule(n.Spec.Taints, p.Spec.Tolerations, false))})
		}
		if len(let) == 0 {
			continue
		}
		require.True(t, theirs.RunPreScorePlugins(t.Context(), state, p, let).IsSuccess())
		scores, status := theirs.RunScorePlugins(t.Context(), state, p, let)
		require.True(t, status.IsSuccess(), status)
		require.True(t, helper.DefaultNormalizeScore(fwk.MaxScore, true, count).IsSuccess())
		for i := range let {
			require.Equal(t, scores[i].TotalScore, count[i].Score, "%v: %v", p.Spec.Tolerations, let[i].Node().Spec.Taints)
			ranked++
		}
	}
	require.Greater(t, denied, 1000)
	require.Greater(t, ranked, 1000)
}
