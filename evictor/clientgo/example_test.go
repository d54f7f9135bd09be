package clientgo_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

// An evictor on a clientset and its informers.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(node("a-0")) // kubernetes.NewForConfig(config)

	factory := informers.NewSharedInformerFactory(client, 0)
	cluster, err := clientgo.New(client, factory, clientgo.Options{})
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
	if err := cluster.Feed(e); err != nil {
		fmt.Println(err)
		return
	}
	factory.Start(ctx.Done())
	fmt.Println(e.Run(ctx))
	// Output:
	// a-0 NodeRegistered
	// context canceled
}
