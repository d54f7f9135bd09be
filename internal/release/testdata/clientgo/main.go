// Does an evictor on a clientset see the cluster?
package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/clientgo"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a-0", UID: "1"}})
	cluster, err := clientgo.New(client, clientgo.Options{})
	if err != nil {
		panic(err)
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
		panic(err)
	}
	if err := e.Run(ctx); err != nil && ctx.Err() == nil {
		panic(err)
	}
}
