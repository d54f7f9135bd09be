package clientgo_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// An evictor on a clientset.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(node("a-0"))
	cluster, err := clientgo.New(client, clientgo.Options{}) // or NewForConfig(config, …)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := evictor.New(evictor.DefaultConfig(), cluster.Clients(), evictor.Options{
		Observer: evictor.ObserverFunc(func(d evictor.Decision) {
			if d.Kind == evictor.NodeRegistered {
				fmt.Println(d.Node, d.Kind)
				cancel()
			}
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Run(ctx))
	// Output:
	// a-0 NodeRegistered
	// context canceled
}
