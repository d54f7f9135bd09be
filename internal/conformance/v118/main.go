// Command v118 plays a scenario with the node lifecycle controller of k8s.io/kubernetes v1.18, with or without taints,
// and writes the timeline to stdout.
package main

import (
	"context"
	"flag"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle/scheduler"

	"github.com/evictkit/evictkit/examples/frontend"
)

func main() { frontend.Main(controllers) }

func controllers(ctx context.Context, p frontend.Process) ([]func(), error) {
	// The default handlers sleep for a millisecond while upstream holds a lock that its pass may wait for. Then virtual
	// time would stand still for ever.
	utilruntime.ErrorHandlers = nil
	// It was off by default then: a label excludes nodes from their zone's counts.
	if err := utilfeature.DefaultMutableFeatureGate.Set("NodeDisruptionExclusion=true"); err != nil {
		return nil, err
	}
	s := p.Config
	log(p.Logged)
	core := p.Informers.Core().V1()
	nodes, err := nodelifecycle.NewNodeLifecycleController(p.Informers.Coordination().V1().Leases(), core.Pods(), p.Nodes, p.Informers.Apps().V1().DaemonSets(), p.Client,
		s.NodeMonitorPeriod, s.NodeStartupGracePeriod, s.NodeMonitorGracePeriod, s.PodEvictionTimeout, float32(s.NodeEvictionRate), float32(s.SecondaryNodeEvictionRate),
		int32(s.LargeClusterSizeThreshold), float32(s.UnhealthyZoneThreshold), s.TaintBasedEviction)
	if err != nil {
		return nil, err
	}
	run := []func(){func() { nodes.Run(ctx.Done()) }}
	if !s.TaintBasedEviction {
		// Without taints the controller has no taint manager. v1.16 could evict without taints of its own and still act
		// on those of others.
		taints := taintManager(p)
		run = append(run, func() { taints.Run(ctx.Done()) })
	}
	return run, nil
}

// taintManager wires upstream's taint manager as its node lifecycle controller does.
func taintManager(p frontend.Process) *scheduler.NoExecuteTaintManager {
	pods, nodes := p.Informers.Core().V1().Pods(), p.Nodes
	m := scheduler.NewNoExecuteTaintManager(p.Client,
		func(name, namespace string) (*v1.Pod, error) { return pods.Lister().Pods(namespace).Get(name) },
		func(name string) (*v1.Node, error) { return nodes.Lister().Get(name) },
		func(name string) (bound []*v1.Pod, err error) {
			all, err := pods.Lister().List(labels.Everything())
			for _, pod := range all {
				if pod.Spec.NodeName == name {
					bound = append(bound, pod)
				}
			}
			return bound, err
		})
	pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o interface{}) { m.PodUpdated(nil, frontend.As[*v1.Pod](o)) },
		UpdateFunc: func(old, o interface{}) { m.PodUpdated(frontend.As[*v1.Pod](old), frontend.As[*v1.Pod](o)) },
		DeleteFunc: func(o interface{}) {
			if pod, ok := o.(*v1.Pod); ok {
				m.PodUpdated(pod, nil)
			}
		},
	})
	nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o interface{}) { m.NodeUpdated(nil, frontend.As[*v1.Node](o)) },
		UpdateFunc: func(old, o interface{}) { m.NodeUpdated(frontend.As[*v1.Node](old), frontend.As[*v1.Node](o)) },
		DeleteFunc: func(o interface{}) {
			if node, ok := o.(*v1.Node); ok {
				m.NodeUpdated(node, nil)
			}
		},
	})
	return m
}

// logged passes on what the controller logs about zones.
type logged func(string)

func (l logged) Write(text []byte) (int, error) {
	if strings.Contains(string(text), "Controller detected") {
		l(string(text))
	}
	return len(text), nil
}

func log(note func(string)) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	klog.InitFlags(set)
	_ = set.Set("logtostderr", "false")
	_ = set.Set("stderrthreshold", "FATAL")
	klog.SetOutput(logged(note))
}
