// Command oracle plays a scenario with the controllers of k8s.io/kubernetes v1.37 and writes the timeline to stdout: node
// lifecycle and taint eviction and, unless it is told to play only these, what package controllermanager has.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr/funcr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/evictkit/evictkit/evictor/simulation"
	"github.com/evictkit/evictkit/examples/frontend"
	"github.com/evictkit/evictkit/internal/conformance/controllermanager"
)

func main() { frontend.Main(controllers, others) }

func others(c *frontend.Clock, s *simulation.Scenario) (frontend.Others, error) {
	return controllermanager.New(c, s, controllermanager.All()...)
}

func controllers(ctx context.Context, p frontend.Process) ([]func(), error) {
	// The default handlers sleep for a millisecond while upstream holds a lock that its pass may wait for. Then virtual
	// time would stand still for ever.
	utilruntime.ErrorHandlers = nil
	s := p.Config
	if !s.TaintBasedEviction {
		return nil, fmt.Errorf("v1.37 evicts by taints only")
	}
	logger := funcr.New(func(_, text string) {
		if strings.Contains(text, "Controller detected") {
			p.Logged(text)
		}
	}, funcr.Options{})
	klog.SetLogger(logger)
	ctx = klog.NewContext(ctx, logger)
	if !p.Together {
		ctx = newApart(ctx)
	}
	core := p.Informers.Core().V1()
	nodes, err := nodelifecycle.NewNodeLifecycleController(ctx, p.Informers.Coordination().V1().Leases(), core.Pods(), p.Nodes, p.Informers.Apps().V1().DaemonSets(), p.Client,
		s.NodeMonitorPeriod, s.NodeStartupGracePeriod, s.NodeMonitorGracePeriod, float32(s.NodeEvictionRate), float32(s.SecondaryNodeEvictionRate),
		int32(s.LargeClusterSizeThreshold), float32(s.UnhealthyZoneThreshold))
	if err != nil {
		return nil, err
	}
	taints, err := tainteviction.New(ctx, p.Client, core.Pods(), p.Nodes, "taint-eviction-controller")
	if err != nil {
		return nil, err
	}
	return []func(){func() { nodes.Run(ctx) }, func() { taints.Run(ctx) }}, nil
}
