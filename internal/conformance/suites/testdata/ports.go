package integration

import (
	"context"
	"os"
	"time"

	appsv1informers "k8s.io/client-go/informers/apps/v1"
	coordinformers "k8s.io/client-go/informers/coordination/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"

	"github.com/evictkit/evictkit/internal/conformance/suites/played/nodelifecycle"
	"github.com/evictkit/evictkit/internal/conformance/suites/played/tainteviction"
	"github.com/evictkit/evictkit/internal/conformance/suites/stack"
)

func init() {
	if os.Getenv("EVICTKIT_SUITES_SIDE") != "ports" {
		return
	}
	stack.Ports.Nodes = func(
		ctx context.Context, leases coordinformers.LeaseInformer, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer,
		sets appsv1informers.DaemonSetInformer, client clientset.Interface, period, startup, grace time.Duration,
		rate, secondary float32, large int32, unhealthy float32,
	) (stack.Runner, error) {
		return nodelifecycle.NewNodeLifecycleController(ctx, leases, pods, nodes, sets, client, period, startup, grace, rate, secondary, large, unhealthy)
	}
	stack.Ports.Pods = func(
		ctx context.Context, client clientset.Interface, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer, name string,
	) (stack.Runner, error) {
		return tainteviction.New(ctx, client, pods, nodes, name)
	}
}
