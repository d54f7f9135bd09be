package manager_test

import (
	"context"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/evictkit/evictkit/evictor/manager"
	"github.com/evictkit/evictkit/evictor/nodelifecycle"
	"github.com/evictkit/evictkit/evictor/tainteviction"
)

// The lifecycle half alone: nodes are tainted, and kube-controller-manager's taint eviction controller evicts.
func ExampleNewLifecycle() {
	run := func(ctx context.Context, config *rest.Config) error {
		options := ctrl.Options{LeaderElection: true, LeaderElectionID: "node-lifecycle", LeaderElectionNamespace: "kube-system"}
		mgr, nodes, err := manager.NewLifecycle(config, options, nodelifecycle.DefaultConfig(), manager.Options{})
		if err != nil {
			return err
		}
		nodes.Hold("a-0", "under repair")
		return mgr.Start(ctx)
	}
	_ = run
}

// The taint eviction half alone, beside kube-controller-manager's node lifecycle controller.
func ExampleNewTaintEviction() {
	run := func(ctx context.Context, config *rest.Config) error {
		options := ctrl.Options{LeaderElection: true, LeaderElectionID: "taint-eviction", LeaderElectionNamespace: "kube-system"}
		mgr, _, err := manager.NewTaintEviction(config, options, tainteviction.DefaultConfig(), manager.Options{})
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
	_ = run
}
