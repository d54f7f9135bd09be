// Package stack has what upstream's integration tests call, on evictkit's evictor with clientgo: the constructors of its two
// controllers, with their parameters, and an eviction. The tests are made and played by package suites.
package stack

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	appsv1informers "k8s.io/client-go/informers/apps/v1"
	coordinformers "k8s.io/client-go/informers/coordination/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// Changes names the environment variable with the changes that are made to what tests ask for, separated by commas:
//
//   - settings gives the periods that the tests' comments name: the tests pass them in another order than the parameters'.
//   - threshold takes an unhealthy zone threshold above 1 for 1.
//   - leases renews the leases of the nodes, which have no kubelets.
const Changes = "EVICTKIT_SUITES_CHANGES"

func changed(what string) bool { return slices.Contains(strings.Split(os.Getenv(Changes), ","), what) }

// Runner is what the tests do with a controller.
type Runner interface{ Run(ctx context.Context) }

// Ports are the constructors that are called instead of evictkit's own, if they are not nil.
var Ports struct {
	Nodes func(
		ctx context.Context, leases coordinformers.LeaseInformer, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer,
		sets appsv1informers.DaemonSetInformer, client clientset.Interface, period, startup, grace time.Duration,
		rate, secondary float32, large int32, unhealthy float32,
	) (Runner, error)
	Pods func(
		ctx context.Context, client clientset.Interface, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer, name string,
	) (Runner, error)
}

// NewNodeLifecycleController has upstream's parameters.
func NewNodeLifecycleController(
	ctx context.Context, leases coordinformers.LeaseInformer, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer,
	sets appsv1informers.DaemonSetInformer, client clientset.Interface, period, startup, grace time.Duration,
	rate, secondary float32, large int32, unhealthy float32,
) (Runner, error) {
	if changed("settings") && period >= grace {
		period, grace = grace, period
		startup = max(startup, 2*period) // which must exceed the period
	}
	if changed("threshold") {
		unhealthy = min(unhealthy, 1)
	}
	if changed("leases") {
		go beat(ctx, client)
	}
	if Ports.Nodes != nil {
		return Ports.Nodes(ctx, leases, pods, nodes, sets, client, period, startup, grace, rate, secondary, large, unhealthy)
	}
	config := evictor.DefaultConfig()
	n := &config.Nodes
	n.NodeMonitorPeriod, n.NodeStartupGracePeriod, n.NodeMonitorGracePeriod = period, startup, grace
	n.NodeEvictionRate, n.SecondaryNodeEvictionRate = float64(rate), float64(secondary)
	n.LargeClusterSizeThreshold, n.UnhealthyZoneThreshold = int(large), float64(unhealthy)
	config.NumericTolerations = numeric()
	alone := utilfeature.DefaultFeatureGate.Enabled(features.SeparateTaintEvictionController)
	half := clientgo.Both
	if alone {
		half = clientgo.Lifecycle
	}
	cluster, err := clientgo.New(client, clientgo.Options{Half: half, LeaseSilence: min(20*time.Second, grace*2/5), Logger: logger})
	if err != nil {
		return nil, err
	}
	seen := observers(cluster)
	if alone {
		c, err := nodelifecycle.New(config.Nodes, cluster.Lifecycle(), nodelifecycle.Options{Observer: seen.ObserveNode})
		return running{c}, err
	}
	e, err := evictor.New(config, cluster.Clients(), evictor.Options{Observer: seen})
	return running{e}, err
}

// New has the parameters of upstream's taint eviction controller.
func New(
	ctx context.Context, client clientset.Interface, pods coreinformers.PodInformer, nodes coreinformers.NodeInformer, name string,
) (Runner, error) {
	if Ports.Pods != nil {
		return Ports.Pods(ctx, client, pods, nodes, name)
	}
	cluster, err := clientgo.New(client, clientgo.Options{Half: clientgo.TaintEviction, Logger: logger})
	if err != nil {
		return nil, err
	}
	config := tainteviction.DefaultConfig()
	config.NumericTolerations = numeric()
	c, err := tainteviction.New(config, cluster.TaintEviction(), tainteviction.Options{Observer: observers(cluster).ObservePod})
	return running{c}, err
}

var logger = slog.New(slog.NewTextHandler(os.Stderr, nil))

func observers(cluster *clientgo.Cluster) evictor.Observers {
	return evictor.Observers{explain.Log(logger), cluster.Events()}
}

func numeric() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
}

// running logs what upstream's Run does not return.
type running struct {
	of interface {
		Run(ctx context.Context) error
	}
}

func (r running) Run(ctx context.Context) {
	if err := r.of.Run(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "evictkit ended")
	}
}
