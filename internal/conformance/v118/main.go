// Command v118 plays a scenario with the node lifecycle controller of k8s.io/kubernetes v1.18, with or without taints,
// and writes the timeline to stdout.
package main

import (
	"context"
	"flag"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"

	"github.com/evictkit/evictkit/examples/frontend"
)

func main() { frontend.Main(controllers, nil) }

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
	return []func(){func() { nodes.Run(ctx.Done()) }}, nil
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
