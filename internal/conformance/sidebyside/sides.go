package main

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/utils/clock"
)

const (
	monitorPeriod  = 5 * time.Second
	monitorGrace   = 50 * time.Second
	startupGrace   = time.Minute
	largeZone      = 50
	unhealthyShare = 0.55
	perSecond      = 5.01 // nodes a second; at 5, rounding delays a token until after the upstream tick that should use it
	reducedRate    = 0.01 // for a large, partially disrupted zone
)

// side is one of the two that are measured. It is built before the informers start.
type side interface {
	run(ctx context.Context) // until ctx ends
	leaseRenewed(node string, renewTime time.Time)
	nodeStored(node string) // called for a node that reached the store without a watch
}

type build func(ctx context.Context, t *testing.T, c *client, factory informers.SharedInformerFactory) side

// upstream is the node lifecycle controller and the taint eviction controller, as kube-controller-manager runs them.
type upstream struct {
	nodes *nodelifecycle.Controller
	pods  *tainteviction.Controller
}

func newUpstream(ctx context.Context, t *testing.T, c *client, factory informers.SharedInformerFactory) side {
	nodes, err := nodelifecycle.NewNodeLifecycleController(ctx,
		factory.Coordination().V1().Leases(), factory.Core().V1().Pods(), factory.Core().V1().Nodes(), factory.Apps().V1().DaemonSets(),
		c, monitorPeriod, startupGrace, monitorGrace, perSecond, reducedRate, largeZone, unhealthyShare)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := tainteviction.New(ctx, c, factory.Core().V1().Pods(), factory.Core().V1().Nodes(), "taint-eviction-controller")
	if err != nil {
		t.Fatal(err)
	}
	return &upstream{nodes, pods}
}

func (u *upstream) run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { u.nodes.Run(ctx) })
	both.Go(func() { u.pods.Run(ctx) })
	both.Wait()
}

func (*upstream) leaseRenewed(string, time.Time) {}
func (*upstream) nodeStored(string)              {}

// nobody measures the cost of the stores without a controller.
type nobody struct{}

func newNobody(context.Context, *testing.T, *client, informers.SharedInformerFactory) side {
	return nobody{}
}

func (nobody) run(ctx context.Context)        { <-ctx.Done() }
func (nobody) leaseRenewed(string, time.Time) {}
func (nobody) nodeStored(string)              {}

// scene is a bubble with informers and one side on top.
type scene struct {
	client  *client
	factory informers.SharedInformerFactory
	side    side
	ctx     context.Context
	stop    func()
	running sync.WaitGroup
}

// newScene starts the informers and waits for them. Call it within a bubble.
func newScene(t *testing.T, c *client, b build) *scene {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	s := &scene{client: c, factory: informers.NewSharedInformerFactory(c, 0), ctx: ctx}
	s.side = b(ctx, t, c, s.factory)
	s.factory.Core().V1().Nodes().Informer()
	s.factory.Core().V1().Pods().Informer()
	s.factory.Coordination().V1().Leases().Informer()
	s.factory.Start(ctx.Done())
	for informer, synced := range s.factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatal(informer)
		}
	}
	s.stop = func() {
		cancel()
		s.running.Wait()
		s.factory.Shutdown()
	}
	return s
}

// start starts the side. Heartbeats come between its ticks, so that a pass has seen all earlier ones.
func (s *scene) start() {
	s.running.Go(func() { s.side.run(s.ctx) })
	clock.RealClock{}.Sleep(tick / 2)
}

// pass lets the kubelets send heartbeats for that long.
func (s *scene) pass(k *kubelets, d time.Duration) {
	for range d / tick {
		clock.RealClock{}.Sleep(tick)
		k.tick()
	}
}
