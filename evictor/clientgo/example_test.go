package clientgo_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// An evictor on a clientset.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	observe := func(d evictor.Decision) {
		if d.Kind == evictor.NodeRegistered {
			fmt.Println(d.Node, d.Kind)
			cancel()
		}
	}
	fmt.Println(run(ctx, fake.NewClientset(node("a-0")), observe))
	// Output:
	// a-0 NodeRegistered
	// context canceled
}

func run(ctx context.Context, client kubernetes.Interface, observe func(evictor.Decision)) error {
	cluster, err := clientgo.New(client, clientgo.Options{}) // or NewForConfig(config, …)
	if err != nil {
		return err
	}
	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{Observer: evictor.ObserverFunc(observe)})
	if err != nil {
		return err
	}
	return e.Run(ctx)
}
