package placement

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
	schedruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// filters are those of kube-scheduler that the simulator agrees with, in the scheduler's own order, which decides which
// of several reasons is reported.
var filters = []string{
	nodeunschedulable.Name, nodename.Name, tainttoleration.Name, nodeaffinity.Name, nodeports.Name, noderesources.Name,
	volumerestrictions.Name, volumebinding.Name, volumezone.Name, podtopologyspread.Name, interpodaffinity.Name,
}

func registry() schedruntime.Registry {
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	return schedruntime.Registry{
		nodeunschedulable.Name:  schedruntime.FactoryAdapter(gates, nodeunschedulable.New),
		nodename.Name:           schedruntime.FactoryAdapter(gates, nodename.New),
		tainttoleration.Name:    schedruntime.FactoryAdapter(gates, tainttoleration.New),
		nodeaffinity.Name:       schedruntime.FactoryAdapter(gates, nodeaffinity.New),
		nodeports.Name:          schedruntime.FactoryAdapter(gates, nodeports.New),
		noderesources.Name:      schedruntime.FactoryAdapter(gates, noderesources.NewFit),
		volumerestrictions.Name: schedruntime.FactoryAdapter(gates, volumerestrictions.New),
		volumebinding.Name:      schedruntime.FactoryAdapter(gates, volumebinding.New),
		volumezone.Name:         schedruntime.FactoryAdapter(gates, volumezone.New),
		podtopologyspread.Name:  schedruntime.FactoryAdapter(gates, podtopologyspread.New),
		interpodaffinity.Name:   schedruntime.FactoryAdapter(gates, interpodaffinity.New),
		queuesort.Name:          queuesort.New,
		defaultbinder.Name:      defaultbinder.New,
	}
}

func plugins() *config.Plugins {
	p := &config.Plugins{
		QueueSort: config.PluginSet{Enabled: []config.Plugin{{Name: queuesort.Name}}}, // one is required
		Bind:      config.PluginSet{Enabled: []config.Plugin{{Name: defaultbinder.Name}}},
	}
	for _, name := range filters {
		p.Filter.Enabled = append(p.Filter.Enabled, config.Plugin{Name: name})
	}
	for _, name := range filters[slices.Index(filters, nodeaffinity.Name):] {
		p.PreFilter.Enabled = append(p.PreFilter.Enabled, config.Plugin{Name: name})
	}
	return p
}

// defaults are the filters' default arguments.
var defaults = sync.OnceValue(func() []config.PluginConfig {
	whole, err := latest.Default()
	if err != nil {
		panic(err)
	}
	return slices.DeleteFunc(whole.Profiles[0].PluginConfig, func(c config.PluginConfig) bool { return !slices.Contains(filters, c.Name) })
})

// client is empty and never used.
var client = sync.OnceValue(func() *fake.Clientset { return fake.NewClientset() })

var registerMetrics = sync.OnceFunc(metrics.Register)

// theirs returns for every node the filter that refuses it for the pod, or "" if it is feasible.
func theirs(t *testing.T, w *world, pod *v1.Pod) map[string]string {
	registerMetrics()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	factory := informers.NewSharedInformerFactory(client(), 0) // never started: its contents are set directly
	for _, n := range w.namespaces {
		require.NoError(t, factory.Core().V1().Namespaces().Informer().GetIndexer().Add(n))
	}
	for _, v := range w.volumes {
		require.NoError(t, factory.Core().V1().PersistentVolumes().Informer().GetIndexer().Add(v))
	}
	for _, c := range w.claims {
		require.NoError(t, factory.Core().V1().PersistentVolumeClaims().Informer().GetIndexer().Add(c))
	}
	var bound []*v1.Pod
	for _, p := range w.pods { // the scheduler's informer skips the others
		if p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
			bound = append(bound, p)
		}
	}
	snapshot := cache.NewSnapshot(bound, w.nodes)
	profile := config.KubeSchedulerProfile{SchedulerName: v1.DefaultSchedulerName, Plugins: plugins(), PluginConfig: defaults()}
	scheduler, err := schedruntime.NewFramework(ctx, registry(), &profile,
		schedruntime.WithClientSet(client()), schedruntime.WithInformerFactory(factory), schedruntime.WithSnapshotSharedLister(snapshot))
	require.NoError(t, err)

	refused := make(map[string]string, len(w.nodes))
	state := framework.NewCycleState()
	only, status, _ := scheduler.RunPreFilterPlugins(ctx, state, pod)
	for _, n := range w.nodes {
		switch {
		case !status.IsSuccess():
			require.True(t, status.IsRejected(), status.Message())
			refused[n.Name] = status.Plugin()
		case !only.AllNodes() && !only.NodeNames.Has(n.Name):
			refused[n.Name] = nodeaffinity.Name // the only one that names nodes
		default:
			info, err := snapshot.NodeInfos().Get(n.Name)
			require.NoError(t, err)
			if verdict := scheduler.RunFilterPlugins(ctx, state, pod, info); verdict.IsSuccess() {
				refused[n.Name] = ""
			} else {
				require.True(t, verdict.IsRejected(), verdict.Message())
				refused[n.Name] = verdict.Plugin()
			}
		}
	}
	return refused
}
