package together_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/cluster"
	"github.com/evictkit/evictkit/evictor/evictortest"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/tainteviction"
	"github.com/evictkit/evictkit/evictor/together"
)

// fatal stands for the *testing.T of a test.
type fatal struct{}

func (fatal) Helper()                           {}
func (fatal) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Three pods train together. The node of one of them fails, and all leave, that one last.
func Example() {
	nodes := evictortest.New(fatal{}, evictortest.Zone("a", 3), evictortest.PodsPerNode(1))
	everybody := func(*v1.Pod) (keys []cluster.PodKey) { // of a JobSet: a program asks an index of its informer by a label
		for _, name := range []string{"a-0-p0", "a-1-p0", "a-2-p0"} {
			keys = append(keys, cluster.PodKey{Namespace: "default", Name: name})
		}
		return keys
	}
	observer := evictor.Observe(nil, func(d evictor.PodDecision) {
		if d.Kind == tainteviction.PodEvicted {
			fmt.Println(explain.Pod(d))
		}
	})
	clients := nodes.Clients()
	clients.PodWriter = &together.Writer{
		PodWriter: clients.PodWriter, Nodes: clients.Nodes, Pods: clients.Pods, Group: everybody, Observer: observer.ObservePod, Clock: nodes.Clock(),
	}
	e, err := evictor.New(evictor.DefaultConfig(), clients, evictor.Options{Clock: nodes.Clock(), Observer: observer})
	if err != nil {
		panic(err)
	}
	nodes.Drive(func(ctx context.Context) (time.Time, error) { return e.Step(ctx) })
	nodes.Fail("a-0")
	nodes.Advance(10 * time.Minute)
	// Output:
	// 00:05:55 pod default/a-1-p0: evicted from node a-1: goes with pod default/a-0-p0: tolerated node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1])
	// 00:05:55 pod default/a-2-p0: evicted from node a-2: goes with pod default/a-0-p0: tolerated node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1])
	// 00:05:55 pod default/a-0-p0: evicted from node a-0: tolerated node.kubernetes.io/unreachable:NoExecute for 5m0s (tolerations[1])
}
