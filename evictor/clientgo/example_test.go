package clientgo_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
	"github.com/evictkit/evictkit/evictor/explain"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// An evictor on a clientset.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	observe := func(entry explain.Entry) {
		if entry.Kind == "NodeRegistered" {
			fmt.Println(entry.Node, entry.Kind)
			cancel()
		}
	}
	fmt.Println(run(ctx, fake.NewClientset(node("a-0")), observe))
	// Output:
	// a-0 NodeRegistered
	// context canceled
}

func run(ctx context.Context, client kubernetes.Interface, observe explain.Observer) error {
	cluster, err := clientgo.New(client, clientgo.Options{}) // or NewForConfig(config, …)
	if err != nil {
		return err
	}
	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{
		Observer: evictor.Observers{observe, cluster.Events()},
	})
	if err != nil {
		return err
	}
	return e.Run(ctx)
}

// Half of it, beside somebody else's node lifecycle controller: it needs no permission to write nodes.
func ExampleCluster_TaintEviction() {
	cluster, err := clientgo.New(fake.NewClientset(), clientgo.Options{Half: clientgo.TaintEviction})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods, err := tainteviction.New(tainteviction.DefaultConfig(), cluster.TaintEviction(), tainteviction.Options{Observer: cluster.Events().ObservePod})
	fmt.Println(pods.Evictions(), err)
	// Output: [] <nil>
}
