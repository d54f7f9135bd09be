// Package schedulerplugin answers: how does my scheduler keep pods away from nodes that would evict them soon, and from zones that
// are failing?
//
// It is a plugin for the scheduling framework of k8s.io/kube-scheduler. Filter rejects a node with a taint that the pod
// does not tolerate, and names the taint. Score prefers a node on which the pod may stay for ever to one that would
// evict it, a longer stay to a shorter one, and a healthy zone to a disrupted one. It works beside the scheduler's own
// plugin TaintToleration, which scores PreferNoSchedule taints (taints.PreferNoSchedule). Add it to a scheduler with
// app.NewSchedulerCommand(app.WithPlugin(schedulerplugin.Name, schedulerplugin.New)).
package schedulerplugin

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	framework "k8s.io/kube-scheduler/framework"

	"github.com/evictkit/evictkit/taints"
	"github.com/evictkit/evictkit/zone"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = "StaysLong"

// Plugin filters and scores.
type Plugin struct {
	zones *zone.Tracker[string]
}

var (
	_ framework.FilterPlugin = (*Plugin)(nil)
	_ framework.ScorePlugin  = (*Plugin)(nil)
)

// New is a PluginFactory. The plugin follows the nodes through the scheduler's informer, so it costs no request.
func New(_ context.Context, _ runtime.Object, handle framework.Handle) (framework.Plugin, error) {
	zones, err := zone.New[string](zone.DefaultPolicy())
	if err != nil {
		return nil, err
	}
	p := &Plugin{zones: zones}
	_, err = handle.SharedInformerFactory().Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    p.seen,
		UpdateFunc: func(_, now any) { p.seen(now) },
		DeleteFunc: p.gone,
	})
	return p, err
}

// Name implements framework.Plugin.
func (*Plugin) Name() string { return Name }

func (p *Plugin) seen(obj any) {
	if node, ok := obj.(*v1.Node); ok {
		ready := false
		for _, c := range node.Status.Conditions {
			ready = ready || c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
		}
		p.zones.Set(node.Name, zone.KeyOf(node.Labels), zone.Member{Ready: ready, Excluded: zone.Excluded(node.Labels)})
		p.zones.Evaluate(time.Now())
	}
}

func (p *Plugin) gone(obj any) {
	if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		p.zones.Remove(name, "")
		p.zones.Evaluate(time.Now())
	}
}

// Filter implements framework.FilterPlugin.
func (*Plugin) Filter(_ context.Context, _ framework.CycleState, pod *v1.Pod, info framework.NodeInfo) *framework.Status {
	if taint, ok := taints.Untolerated(info.Node().Spec.Taints, pod.Spec.Tolerations, false); ok {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "taint "+taint.ToString()+" is not tolerated")
	}
	return nil
}

// Score implements framework.ScorePlugin: 50 for a stay without end, less for a shorter one (49 for an hour or more), and
// 50 for a healthy zone.
func (p *Plugin) Score(_ context.Context, _ framework.CycleState, pod *v1.Pod, info framework.NodeInfo) (int64, *framework.Status) {
	const half = framework.MaxScore / 2
	node := info.Node()
	score := half
	if stay := taints.Tolerate(node.Spec.Taints, pod.Spec.Tolerations, false); !stay.Forever {
		score = (half - 1) * int64(min(stay.For, time.Hour)) / int64(time.Hour)
	}
	if status, ok := p.zones.Zone(zone.KeyOf(node.Labels)); ok && status.State == zone.Normal {
		score += half
	}
	return score, nil
}

// ScoreExtensions implements framework.ScorePlugin. The scores are already in the framework's range.
func (*Plugin) ScoreExtensions() framework.ScoreExtensions { return nil }
