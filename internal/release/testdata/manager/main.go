// Does a manager of controller-runtime have the evictor in it, and end when it is told to?
package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/evictkit/evictkit/evictor"
	"github.com/evictkit/evictkit/evictor/manager"
)

func main() {
	options := ctrl.Options{Metrics: server.Options{BindAddress: "0"}}
	mgr, e, err := manager.New(&rest.Config{Host: "http://127.0.0.1:1"}, options, evictor.DefaultConfig(), manager.Options{})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(e != nil, mgr.Start(ctx))
}
