package dryrun_test

import (
	"context"
	"fmt"
	"time"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/dryrun"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// A dry run decides, and writes nothing.
func Example() {
	cluster := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	clients := cluster.Clients()
	dry := &dryrun.Clients{NodeStore: clients.Nodes, Pods: clients.Pods}
	clients.Nodes, clients.Pods, clients.NodeWriter, clients.PodWriter = dry, dry, dry, dry
	e, err := evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: cluster.Clock(), Observer: evictor.Observe(nil, func(d evictor.PodDecision) {
		if d.Kind == tainteviction.PodEvicted {
			fmt.Println("dry run:", explain.Pod(d))
		}
	})})
	if err != nil {
		panic(err)
	}
	dry.To = e
	cluster.Drive(func(ctx context.Context) (time.Time, error) { return e.Step(ctx) })
	cluster.Fail("a-0")
	cluster.Advance(10 * time.Minute)
	fmt.Println(cluster.Taints("a-0"), cluster.Evicted())
	// Output:
	// dry run: 00:05:55 pod default/a-0-p0: evicted from node a-0: tolerated node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1])
	// [] []
}
